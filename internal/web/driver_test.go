package web

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"testing"
	"time"
)

// A browser is a headless Chromium, spoken to over the WebDriver protocol.
type browser struct {
	t       testing.TB
	client  *http.Client
	session string // its address
}

// browserTime is how long a page may take to do what a test waits for.
const browserTime = 30 * time.Second

// openBrowser starts Chromium, or skips the test where there is none; in CI
// there has to be one.
func openBrowser(t testing.TB) *browser {
	t.Helper()
	var found [2]string
	for i, name := range []string{"chromedriver", "chromium"} {
		path, err := exec.LookPath(name)
		if err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skipf("%v; install it with: apt-get install -y chromium chromium-driver", err)
		}
		found[i] = path
	}
	b := &browser{t: t, client: &http.Client{Timeout: 2 * browserTime}}
	t.Cleanup(b.client.CloseIdleConnections)
	driver := startDriver(t, found[0])
	var made struct{ SessionID string }
	b.session = driver + "/session"
	b.call("POST", "", map[string]any{"capabilities": map[string]any{"alwaysMatch": map[string]any{
		"goog:loggingPrefs": map[string]any{"browser": "ALL"},
		"goog:chromeOptions": map[string]any{"binary": found[1], "args": []string{
			"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--no-first-run",
			"--disable-background-networking", "--disable-component-update", "--disable-sync", "--user-data-dir=" + t.TempDir(),
		}},
	}}}, &made)
	b.session += "/" + made.SessionID
	t.Cleanup(func() { b.call("DELETE", "", nil, nil) })
	b.call("POST", "/timeouts", map[string]any{"script": browserTime.Milliseconds()}, nil)
	return b
}

// startDriver starts chromedriver on a free port and gives its address.
func startDriver(t testing.TB, path string) string {
	t.Helper()
	cmd := exec.Command(path, "--port=0")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill() //nolint:errcheck // it may have ended
		cmd.Wait()         //nolint:errcheck // killed
	})
	port := regexp.MustCompile(`successfully on port (\d+)`)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if m := port.FindStringSubmatch(lines.Text()); m != nil {
			return "http://127.0.0.1:" + m[1]
		}
	}
	t.Fatal("chromedriver did not say where it listens")
	return ""
}

// call sends a WebDriver command.
func (b *browser) call(method, path string, body, value any) {
	b.t.Helper()
	var payload bytes.Buffer
	if method == "POST" {
		if body == nil {
			body = struct{}{}
		}
		if err := json.NewEncoder(&payload).Encode(body); err != nil {
			b.t.Fatal(err)
		}
	}
	req, err := http.NewRequest(method, b.session+path, &payload)
	if err != nil {
		b.t.Fatal(err)
	}
	resp, err := b.client.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct{ Value json.RawMessage }
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		b.t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		b.t.Fatalf("%s %s: %s", method, path, answer.Value)
	}
	if value != nil {
		if err := json.Unmarshal(answer.Value, value); err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *browser) open(url string) {
	b.t.Helper()
	b.call("POST", "/url", map[string]any{"url": url}, nil)
}

// run runs a script of the page, which may return a value.
func run[T any](b *browser, script string, args ...any) (value T) {
	b.t.Helper()
	b.call("POST", "/execute/sync", map[string]any{"script": script, "args": append([]any{}, args...)}, &value)
	return value
}

// await waits until a JavaScript expression holds; if it does not in time, the
// test fails with what the page shows.
func (b *browser) await(expression string) {
	b.t.Helper()
	const script = `
		const done = arguments[arguments.length - 1], end = Date.now() + arguments[0];
		const holds = () => { try { return %s; } catch { return false; } };
		const look = () => {
			if (holds()) done("");
			else if (Date.now() > end) done(document.body.innerText);
			else setTimeout(look, 20);
		};
		look();`
	var shown string
	b.call("POST", "/execute/async", map[string]any{
		"script": fmt.Sprintf(script, expression), "args": []any{browserTime.Milliseconds() / 2},
	}, &shown)
	if shown != "" {
		b.t.Fatalf("the page does not come to %s; it shows\n%s", expression, shown)
	}
}

// devtools sends a command of Chromium's own protocol.
func (b *browser) devtools(command string, params map[string]any) {
	b.t.Helper()
	b.call("POST", "/goog/cdp/execute", map[string]any{"cmd": command, "params": params}, nil)
}

// screenshot saves what is seen.
func (b *browser) screenshot(file string) {
	b.t.Helper()
	var shot string
	b.call("GET", "/screenshot", nil, &shot)
	png, err := base64.StdEncoding.DecodeString(shot)
	if err == nil {
		err = os.WriteFile(file, png, 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// complaints is what the browser's console says, such as a policy that was
// broken or a script that failed.
func (b *browser) complaints() (all []string) {
	b.t.Helper()
	var entries []struct{ Level, Message string }
	b.call("POST", "/se/log", map[string]any{"type": "browser"}, &entries)
	for _, e := range entries {
		all = append(all, e.Level+": "+e.Message)
	}
	return all
}
