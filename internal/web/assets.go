package web

import (
	"bytes"
	"embed"
	"net/http"
	"path"
	"time"
)

//go:embed page
var page embed.FS

var assetTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
	".yaml": "application/yaml",
}

// asset serves a file of the page.
func asset(name string) func(http.ResponseWriter, *http.Request) error {
	content, err := page.ReadFile("page/" + name)
	if err != nil {
		panic(err) // it was there when this was built
	}
	return func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Content-Type", assetTypes[path.Ext(name)])
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
		return nil
	}
}
