package main

import (
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseCPU_counts_from_behind_the_name(t *testing.T) {
	const stat = "4711 (a ) b) S 1 4711 4711 0 -1 4194560 1215 0 0 0 123 77 9 9 20 0 8 0 55 1 2 3"
	if got, err := parseCPU(stat); err != nil || got != 2*time.Second {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "1 (x) S 1", strings.Replace(stat, "123", "many", 1)} {
		if _, err := parseCPU(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestParseKB(t *testing.T) {
	const status = "Name:\tx\nVmHWM:\t  2048 kB\nVmRSS:\t    10 kB\n"
	for name, want := range map[string]int64{"VmHWM": 2 << 20, "VmRSS": 10 << 10} {
		if got, err := parseKB(status, name); err != nil || got != want {
			t.Errorf("%s: %d, %v", name, got, err)
		}
	}
	if _, err := parseKB(status, "Vm"); err == nil {
		t.Error("a line was found that is not there")
	}
}

func TestListening_finds_the_inode_of_the_port(t *testing.T) {
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:2384 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1 0000000000000000 100 0 0 10 0
   1: 0100007F:2384 0100007F:1234 01 00000000:00000000 00:00000000 00000000     0        0 222 1 0000000000000000 20 4 30 10 -1
   2: 0100007F:2385 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 333 1 0000000000000000 100 0 0 10 0
`
	if got := listening(table, 9092); !slices.Equal(got, []string{"111"}) {
		t.Errorf("%q", got)
	}
}

func TestWork_check(t *testing.T) {
	for _, c := range []struct {
		change func(*work)
		want   string
	}{
		{func(*work) {}, ""},
		{func(w *work) { w.codec = "zstd" }, ""},
		{func(w *work) { w.codec = "brotli" }, `-codec "brotli" is not known; want none or one of ["gzip" "snappy" "lz4" "zstd"]`},
		{func(w *work) { w.inFlight = 0 }, "-in-flight 0 cannot be; want 1 to 10000"},
		{func(w *work) { w.records = 10_001 }, "-records 10001 cannot be; want 1 to 10000"},
	} {
		got := ""
		if err := large.with(c.change).check(); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if _, err := parseAcks("2"); err == nil {
		t.Error("acks 2 was read")
	}
	if _, err := listenerAt("nowhere"); err == nil || err.Error() != `"nowhere" is no address; write it as HOST:PORT` {
		t.Errorf("%v", err)
	}
}

// What /proc says of this process itself.
func TestProc_of_this_process(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("there is no /proc")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	pid := os.Getpid()
	if got, err := listenerOf(l.Addr().(*net.TCPAddr).Port); err != nil || got != pid {
		t.Errorf("process %d listens: %v; want %d", got, err, pid)
	}
	resident, peak, err := memory(pid)
	if err != nil || resident < 1<<20 || peak < resident {
		t.Errorf("%d resident, at most %d: %v", resident, peak, err)
	}
	if n, err := descriptors(pid); err != nil || n < 3 {
		t.Errorf("%d descriptors: %v", n, err)
	}
	used, err := cpuWhile(pid, func() error { return burn(pid, 2*tick) })
	if err != nil || used < 2*tick {
		t.Errorf("%v of CPU: %v", used, err)
	}
}

// burn works until a process is seen to have used so much CPU time, however busy the
// machine is, or until that takes too long.
func burn(pid int, d time.Duration) error {
	from, err := cpuTime(pid)
	for late := time.Now().Add(10 * time.Second); err == nil && time.Now().Before(late); {
		var now time.Duration
		if now, err = cpuTime(pid); now-from >= d {
			break
		}
	}
	return err
}

func TestReadAddresses(t *testing.T) {
	const said = "fencepost: Kafka at 127.0.0.1:40001, seed 7\nfencepost: page and API at http://127.0.0.1:40002\nmore\n"
	for want, addresses := range map[int][]string{1: {"127.0.0.1:40001"}, 2: {"127.0.0.1:40001", "127.0.0.1:40002"}} {
		if got, err := readAddresses(strings.NewReader(said), want); err != nil || !slices.Equal(got, addresses) {
			t.Errorf("%q, %v", got, err)
		}
	}
	if _, err := readAddresses(strings.NewReader("no address\n"), 1); err == nil || !strings.Contains(err.Error(), `it said "no address\n"`) {
		t.Errorf("%v", err)
	}
}

func TestParseOptions(t *testing.T) {
	for _, c := range []struct {
		args   []string
		rounds int
		each   time.Duration
		gb     int
		err    string
	}{
		{nil, 3, 500 * time.Millisecond, 1, ""},
		{[]string{"-full"}, 5, 3 * time.Second, 8, ""},
		{[]string{"-short"}, 1, 100 * time.Millisecond, 1, ""},
		{[]string{"-short", "-rounds", "2", "-each", "1s", "-gb", "4"}, 2, time.Second, 4, ""},
		{[]string{"-full", "-short"}, 0, 0, 0, "-full and -short exclude each other"},
		{[]string{"-only", "("}, 0, 0, 0, `-only "(" is no regular expression`},
		{[]string{"sook"}, 0, 0, 0, `"sook" is not known; want flags (see -h), or first of all the word soak or load`},
	} {
		o, err := parseOptions(c.args)
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: %v, want %q", c.args, err, c.err)
			}
		case err != nil || o.rounds != c.rounds || o.each != c.each || o.gigabytes != c.gb:
			t.Errorf("%q: %+v, %v", c.args, o, err)
		}
	}
}
