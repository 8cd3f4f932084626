package web

import (
	"flag"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// screenshots is where the test of every light saves what it sees:
//
//	go test ./internal/web -run TestPage/in_every_light -screenshots DIR
var screenshots = flag.String("screenshots", "", "save screenshots of the page in this `directory`")

// TestPage looks at the page through one browser, at a house of its own for each
// test.
func TestPage(t *testing.T) {
	b := openBrowser(t)
	for _, c := range []struct {
		name string
		test func(*testing.T, *browser)
	}{
		{"shows where it is and that there is nothing", pageShowsNothingYet},
		{"follows the lesson", pageFollows},
		{"window moves lights up and empties", pageMovesTheWindow},
		{"writes text of clients as text", pageEscapes},
		{"adds mends and removes rules", pageAddsRules},
		{"shows a near miss", pageShowsNearMiss},
		{"filters and pauses", pageFiltersAndPauses},
		{"keeps to 500 rows", pageKeeps500Rows},
		{"forgets with the server", pageForgets},
		{"in every light", pageInEveryLight},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, b) })
	}
	b.t = t
}

// visit serves a house and opens its page.
func (b *browser) visit(t *testing.T) *house {
	b.t = t
	h := build(t)
	s := httptest.NewServer(h.server.Handler())
	t.Cleanup(func() {
		b.open("about:blank")
		h.server.Shutdown(t.Context()) //nolint:errcheck // it ends the streams; nothing else is open
		s.Close()
	})
	b.complaints() // of the test before
	b.open(s.URL)
	b.await(`document.getElementById("live").textContent === "live"`)
	return h
}

// checkQuiet fails if the page broke its own policy, or its script failed.
func checkQuiet(t *testing.T, b *browser, but ...string) {
	t.Helper()
	for _, c := range b.complaints() {
		if !slices.ContainsFunc(but, func(s string) bool { return strings.Contains(c, s) }) {
			t.Errorf("the browser complains: %s", c)
		}
	}
}

const (
	rows      = `document.querySelectorAll("#events tr").length`
	firstRow  = `document.querySelector("#events tr").innerText`
	ruleCount = `document.querySelectorAll("#rules [data-rule]").length`
)

func pageShowsNothingYet(t *testing.T, b *browser) {
	b.visit(t)
	b.await(`document.getElementById("kafka").textContent === "127.0.0.1:9092"`)
	b.await(`document.getElementById("seed").textContent === "42"`)
	b.await(`document.getElementById("verdict").innerText.includes("Point a producer at 127.0.0.1:9092")`)
	b.await(firstRow + ` === "No events."`)
	checkQuiet(t, b)
}

func pageFollows(t *testing.T, b *browser) {
	h := b.visit(t)
	h.lesson()
	b.await(rows + ` === 7`)
	b.await(firstRow + `.includes("audit-0")`)
	b.await(`document.querySelectorAll("#events tr")[6].innerText.includes("accepted at 0")`)
	b.await(`document.querySelectorAll("#events tr")[5].innerText.includes("connection closed")`)
	b.await(`document.querySelectorAll("#events tr")[4].innerText.includes("duplicate of 3")`)
	b.await(`document.querySelector("#verdict .good h3").textContent === "✓ audit is exactly once"`)
	b.await(`document.querySelector("#verdict .bad h3").textContent === "✗ orders is not exactly once"`)
	b.await(`document.querySelector("#verdict .findings").innerText.includes("missing")`)
	b.await(`document.querySelector("#rules .counts").innerText.includes("fired 1")`)
	checkQuiet(t, b)
}

// boxes are the full boxes of the first window.
const boxes = `[...document.querySelectorAll(".window:first-child .box:not(.empty)")].map((b) => b.innerText.replaceAll("\n", " ")).join(" | ")`

func pageMovesTheWindow(t *testing.T, b *browser) {
	h := b.visit(t)
	send := func(epoch int16, first int32) {
		h.produce(batch{topic: "orders", producer: 1000, epoch: epoch, first: first, records: 10})
	}
	for first := int32(0); first < 30; first += 10 {
		send(0, first)
	}
	b.await(boxes + ` === "0–9 offset 0 | 10–19 offset 10 | 20–29 offset 20"`)
	for first := int32(30); first < 70; first += 10 {
		send(0, first)
	}
	b.await(boxes + ` === "20–29 offset 20 | 30–39 offset 30 | 40–49 offset 40 | 50–59 offset 50 | 60–69 offset 60"`)
	send(0, 30)
	b.await(`document.querySelector(".box.replayed").innerText.includes("30–39")`)
	send(0, 30)
	b.await(`document.querySelector(".box.replayed em").textContent === "2 replays"`)
	send(0, 0)
	b.await(`document.querySelector(".refusal").textContent === "refused 0–9 of epoch 0: out of order: expected 70, got 0"`)
	send(1, 0)
	b.await(boxes + ` === "0–9 offset 70"`)
	b.await(`document.querySelector(".refusal") === null`)
	checkQuiet(t, b)
}

// pageEscapes lets a client name itself in HTML.
func pageEscapes(t *testing.T, b *browser) {
	h := b.visit(t)
	const evil = `<img src=x onerror="document.title='gone'">`
	h.rule(`drop before init_producer_id client="<img*" times=all`)
	h.produce(batch{topic: "orders", producer: 1000, first: 5, records: 1, client: evil})
	b.await(firstRow + `.includes("<img src=x")`)
	b.await(`document.getElementById("verdict").innerText.includes("orders")`)
	if n := run[int](b, `return document.querySelectorAll("main img").length`); n != 0 {
		t.Errorf("the page has %d images of a client", n)
	}
	checkQuiet(t, b)
}

func pageAddsRules(t *testing.T, b *browser) {
	h := b.visit(t)
	submit := `document.querySelector("#add button[type=submit]").click()`
	b.await(`document.querySelectorAll("#examples button").length === 5`)
	run[any](b, `document.getElementById("sentence").value = "delay 1s, disconect after produce client=\"ö\""; `+submit)
	b.await(`document.getElementById("problem").innerText.includes('unknown verb "disconect"')`)
	b.await(`document.getElementById("sentence").getAttribute("aria-invalid") === "true"`)
	if got := run[string](b, `return document.getSelection().toString()`); got != "disconect" {
		t.Errorf("selected is %q", got)
	}
	run[any](b, `document.querySelector("#problem button").click()`)
	b.await(`document.getElementById("sentence").value === 'delay 1s, disconnect after produce client="ö"'`)
	run[any](b, submit)
	b.await(ruleCount + ` === 1`)
	b.await(`document.getElementById("sentence").value === ""`)
	run[any](b, `document.querySelectorAll("#examples button")[0].click(); `+submit)
	b.await(ruleCount + ` === 2`)
	if got := h.faults.Status(); len(got) != 2 || got[0].Rule.String() != "delay 1s, disconnect after produce client=ö" || got[1].Rule.String() != loseEach {
		t.Errorf("in force is %v", got)
	}
	run[any](b, `document.querySelector("#rules [data-rule]").click()`)
	b.await(ruleCount + ` === 1`)
	if got := h.faults.Status(); len(got) != 1 || got[0].Rule.String() != loseEach {
		t.Errorf("in force is %v", got)
	}
	checkQuiet(t, b, "400 (Bad Request)")
}

func pageShowsNearMiss(t *testing.T, b *browser) {
	h := b.visit(t)
	h.rule("error 6 before produce topic=order")
	h.produce(batch{topic: "orders", producer: 1000, records: 1})
	b.await(`document.querySelector("#rules .near")?.textContent === 'never fired: saw 1 produce request, 0 to "order": 1 to "orders"; did you mean topic=orders?'`)
}

func pageFiltersAndPauses(t *testing.T, b *browser) {
	h := b.visit(t)
	h.lesson()
	b.await(rows + ` === 7`)
	choose := `const s = document.getElementById("topic"); s.value = arguments[0]; s.dispatchEvent(new Event("change"))`
	run[any](b, choose, "audit")
	b.await(rows + ` === 1`)
	run[any](b, choose, "")
	b.await(rows + ` === 7`)
	run[any](b, `document.getElementById("pause").click()`)
	h.producePlain(3)
	b.await(`document.getElementById("pause").textContent === "Resume (3 new)"`)
	b.await(rows + ` === 7`)
	run[any](b, `document.getElementById("pause").click()`)
	b.await(rows + ` === 10`)
	checkQuiet(t, b)
}

func pageKeeps500Rows(t *testing.T, b *browser) {
	h := b.visit(t)
	h.producePlain(700)
	b.await(firstRow + `.startsWith("700")`)
	b.await(rows + ` === 500`)
}

func pageForgets(t *testing.T, b *browser) {
	h := b.visit(t)
	h.lesson()
	b.await(rows + ` === 7`)
	run[any](b, `document.getElementById("reset").click()`)
	b.call("POST", "/alert/accept", nil, nil)
	b.await(firstRow + ` === "No events."`)
	b.await(`document.querySelectorAll(".window").length === 0`)
	if n := len(h.journal.Events()); n != 0 {
		t.Errorf("the server has %d events", n)
	}
	h.producePlain(1)
	b.await(firstRow + `.startsWith("1")`)
	checkQuiet(t, b)
}

// pageInEveryLight looks for what runs over the edge, in a wide and in a
// narrow window, and saves what it sees if asked to.
func pageInEveryLight(t *testing.T, b *browser) {
	h := b.visit(t)
	h.show()
	b.await(`document.querySelectorAll("#verdict .card").length === 3`)
	run[any](b, `document.getElementById("sentence").value = "disconect after produce"; document.querySelector("#add button[type=submit]").click()`)
	b.await(`document.querySelector("#problem button") !== null`)
	for _, c := range []struct {
		name   string
		scheme string
		width  int
	}{{"light", "light", 1280}, {"dark", "dark", 1280}, {"narrow", "light", 380}, {"narrow-dark", "dark", 380}} {
		b.devtools("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]any{{"name": "prefers-color-scheme", "value": c.scheme}}})
		b.devtools("Emulation.setDeviceMetricsOverride", map[string]any{"width": c.width, "height": 900, "deviceScaleFactor": 1, "mobile": false})
		b.await(`innerWidth === ` + map[int]string{1280: "1280", 380: "380"}[c.width])
		if over := run[int](b, `return document.documentElement.scrollWidth - innerWidth`); over > 0 {
			t.Errorf("%s: the page is %d pixels wider than the window", c.name, over)
		}
		if *screenshots != "" {
			height := run[int](b, `return document.documentElement.scrollHeight`)
			b.devtools("Emulation.setDeviceMetricsOverride", map[string]any{"width": c.width, "height": height, "deviceScaleFactor": 1, "mobile": false})
			b.screenshot(filepath.Join(*screenshots, c.name+".png"))
		}
	}
	checkQuiet(t, b, "400 (Bad Request)")
}

// show fills a house with something of everything.
func (h *house) show() {
	h.lesson()
	h.rule(loseEach)
	h.rule("error NOT_LEADER_OR_FOLLOWER before produce topic=order name=typo")
	for first := int32(0); first < 60; first += 10 {
		for range 2 {
			h.produce(batch{topic: "audit", partition: 1, producer: 1001, first: first, records: 10, client: "audit-service"})
		}
	}
	h.produce(batch{topic: "nowhere", producer: 1001, records: 3, client: "audit-service"})
	for range 2 {
		h.produce(batch{topic: "orders", partition: 1, records: 12, client: "a client with a rather long name of its own"})
	}
	h.rule("error COORDINATOR_NOT_AVAILABLE after init_producer_id")
	h.ask(kmsg.NewPtrInitProducerIDRequest())
}
