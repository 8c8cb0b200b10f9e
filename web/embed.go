// Package web holds the portal as `make portal` has built it. Its sources are TypeScript, beside this file; it hides nothing but where
// the build leaves its files. The package that wires the server imports it.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var built embed.FS

// Files are the files of the portal: each one that compresses is there as its gzip form alone, with the ending ".gz". There is no
// index.html.gz in a program that was built without the portal.
func Files() (fs.FS, error) { return fs.Sub(built, "dist") }
