package fencepost_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/fencepostmq/fencepost"

// arrows says which package of the house may import which, and why. A package
// that is not named here may not exist.
var arrows = map[string]struct {
	may []string
	why string
}{
	"internal/producer":   {nil, "it is the lesson, pure: the standard library only"},
	"internal/log":        {nil, "it keeps bytes and knows no Kafka error"},
	"internal/group":      {nil, "it is the life of consumer groups: the standard library only, no message of Kafka's protocol"},
	"internal/txn":        {nil, "it is the life of transactional ids, pure: the standard library only"},
	"internal/wire":       {nil, "it turns bytes into requests and knows neither topics nor offsets"},
	"internal/fault":      {[]string{"internal/wire", "internal/producer"}, "it sees requests and answers, never a partition, so that it works before any cluster; of producer it uses the sequence arithmetic"},
	"internal/journal":    {[]string{"internal/wire", "internal/producer"}, "it sees requests and answers, never a partition, so that it works before any cluster; of producer it uses the sequence arithmetic"},
	"internal/broker":     {[]string{"internal/wire", "internal/producer", "internal/log", "internal/txn", "internal/group"}, "it joins the leaves, and does not know that faults exist nor who watches"},
	"internal/scenario":   {[]string{"internal/fault"}, "it reads files, and does not know how a broker is run"},
	"internal/web":        {[]string{"internal/fault", "internal/journal"}, "it shows what the two know"},
	"":                    {[]string{"internal/..."}, "it builds everything"},
	"cmd/fencepost":       {[]string{"", "internal/..."}, "it builds everything"},
	"bench":               {[]string{"internal/broker", "internal/wire", "internal/journal", "internal/fault", "internal/producer"}, "it drives whole processes from outside; it builds a chain of its own only to leave journal and faults out of it, and of producer it uses the sequence arithmetic"},
	"docs":                {nil, "it holds pages, and a test that runs what they show"},
	"examples":            {[]string{""}, "they are what a user writes"},
	"integration":         {[]string{"", "internal/..."}, "it tests everything"},
	"integration/kafka":   {[]string{""}, "it compares what a client sees with Apache Kafka"},
	"internal/histories":  {nil, "it holds tests only"},
	"integration/clients": {nil, "it runs stock clients from outside; what it says of those that are missing is all that others use"},
}

// TestArrows reads the imports of every package and fails where one leads
// outside of the table above. Imports of tests are free.
func TestArrows(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		rule, known := arrows[room(name)]
		if !known {
			t.Errorf("package %q is not in the table of arrows: say there what it may import, and why", name)
			continue
		}
		for _, imported := range p.Imports {
			to, ours := strings.CutPrefix(imported, module)
			if to = strings.TrimPrefix(to, "/"); ours && !allowed(rule.may, to) {
				t.Errorf("%s imports %s: %s", name, to, rule.why)
			}
		}
	}
}

// room is the table's name for a package: the examples are alike.
func room(name string) string {
	if strings.HasPrefix(name, "examples/") {
		return "examples"
	}
	return name
}

func allowed(may []string, to string) bool {
	return slices.Contains(may, to) || slices.Contains(may, "internal/...") && strings.HasPrefix(to, "internal/")
}

type listed struct {
	ImportPath string
	Imports    []string
}

func packages(t *testing.T) (all []listed) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func TestArrows_allowed_tells_apart(t *testing.T) {
	for _, c := range []struct {
		may  []string
		to   string
		want bool
	}{
		{nil, "internal/wire", false},
		{[]string{"internal/wire"}, "internal/wire", true},
		{[]string{"internal/wire"}, "internal/log", false},
		{[]string{"internal/..."}, "internal/log", true},
		{[]string{"internal/..."}, "", false},
		{[]string{"", "internal/..."}, "", true},
	} {
		if got := allowed(c.may, c.to); got != c.want {
			t.Errorf("allowed(%q, %q) is %v", c.may, c.to, got)
		}
	}
}
