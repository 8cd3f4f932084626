package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/fencepostmq/fencepost/integration/clients"
)

// install is the command that brings the outside clients.
const install = "integration/install"

// kcatCommand is the path of kcat.
func kcatCommand(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("kcat")
	clients.Require(t, "kcat", err == nil, install)
	return path
}

// confluentPython is the path of a Python that has confluent-kafka.
func confluentPython(t testing.TB) string {
	t.Helper()
	environment, err := filepath.Abs("../.cache/python")
	if err != nil {
		t.Fatal(err)
	}
	_, err = os.Stat(filepath.Join(environment, "stamp"))
	clients.Require(t, "confluent-kafka", err == nil, install)
	return filepath.Join(environment, "bin", "python3")
}
