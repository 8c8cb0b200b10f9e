// Package docs holds the pages of the documentation, so that the program serves those of its own version.
//
// It knows in which order users read them, and nothing of how they are shown. It imports nothing.
package docs

import (
	"embed"
	"path"
	"regexp"
)

// Pages are the pages, in Markdown, under their paths in this folder.
//
//go:embed README.md concepts.md start guides operations reference development
var Pages embed.FS

// Index is the file name of the page that lists those of its folder.
const Index = "README.md"

var link = regexp.MustCompile(`\]\(([^)#:\s]+\.md)(?:#[^)]*)?\)`)

// Order returns the pages in the order in which users read them: an index, and what it links to, each once. all are the pages
// by path; what is linked to and is none of them is left out. A README.md
// is the index of its folder, and what it links to follows it.
func Order(all map[string]string, index string) []string {
	var order []string
	seen := map[string]bool{}
	var read func(page string)
	read = func(page string) {
		if _, known := all[page]; !known || seen[page] {
			return
		}
		seen[page] = true
		order = append(order, page)
		if path.Base(page) != Index {
			return
		}
		for _, found := range link.FindAllStringSubmatch(all[page], -1) {
			read(path.Join(path.Dir(page), found[1]))
		}
	}
	read(index)
	return order
}
