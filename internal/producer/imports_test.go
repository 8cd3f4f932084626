package producer_test

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestPackage_is_pure fails on an import that brings in Kafka, the house, a
// clock, a lock or a logger.
func TestPackage_is_pure(t *testing.T) {
	for _, file := range sources(t) {
		for _, path := range importsOf(t, file) {
			if why := impure(path); why != "" {
				t.Errorf("%s imports %s: %s", file, path, why)
			}
		}
	}
}

func TestImpure_tells_the_kinds_apart(t *testing.T) {
	for path, want := range map[string]bool{
		"fmt":                               false,
		"math/bits":                         false,
		"github.com/twmb/franz-go/pkg/kmsg": true,
		"github.com/fencepostmq/fencepost/internal/log": true,
		"golang.org/x/sys/unix":                         true,
		"C":                                             true,
		"time":                                          true,
		"sync":                                          true,
		"sync/atomic":                                   true,
		"log":                                           true,
		"log/slog":                                      true,
	} {
		t.Run(path, func(t *testing.T) {
			if got := impure(path) != ""; got != want {
				t.Errorf("impure(%q) = %v, want %v", path, got, want)
			}
		})
	}
}

// impure says why the package may not import this path, "" if it may.
func impure(path string) string {
	host, _, _ := strings.Cut(path, "/")
	switch {
	case strings.Contains(host, "."), host == "C":
		return "it is not in the standard library"
	case host == "time":
		return "the lesson has no clock"
	case host == "sync":
		return "the lock is the caller's"
	case host == "log":
		return "an outcome says it all"
	}
	return ""
}

func sources(t *testing.T) []string {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			kept = append(kept, file)
		}
	}
	if len(kept) == 0 {
		t.Fatal("found no source file")
	}
	return kept
}

func importsOf(t *testing.T, file string) []string {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, spec := range parsed.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}
