package fencepost

import "runtime/debug"

// Version is the module version that the binary was built from, or the revision
// of a checkout.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "development at " + s.Value[:min(12, len(s.Value))]
		}
	}
	return "development"
}
