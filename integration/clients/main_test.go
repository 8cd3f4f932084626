package clients

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// parallel is how many clients run at a time, whatever the number of processors:
// most of the time they wait, for a timeout or a broker.
const parallel = "6"

// asProgram is the environment variable that makes the test binary the program
// for franz-go.
const asProgram = "FENCEPOST_FRANZ_GO"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(franzGo(os.Args[1:]))
	}
	flag.Parse()
	if err := flag.Set("test.parallel", parallel); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		println("goroutines are left:", err.Error())
		code = 1
	}
	os.Exit(code)
}
