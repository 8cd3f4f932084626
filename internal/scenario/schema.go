package scenario

import _ "embed"

// Schema is the JSON Schema (draft 2020-12) of a scenario file, for editors.
// What a schema cannot say, such as the grammar of a sentence, only [Parse]
// knows.
//
//go:embed scenario.schema.json
var Schema []byte
