// Package site serves the documentation: the pages of package docs, as HTML that needs no script and nothing of another host,
// and beside them the reference of the REST API.
//
// It hides Markdown. A page is made when the first reader asks for it, and kept.
package site

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"

	"kqueen.io/kqueen/docs"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/server/reference"
)

const (
	// root is where the index is.
	root      = "/docs"
	stylePath = root + "/style.css"
	ending    = ".md"
)

//go:embed page.html
var layout string

//go:embed style.css
var style []byte

// Register serves the pages of a folder below /docs.
func Register(mux *http.ServeMux, pages fs.FS) {
	open := sync.OnceValues(func() (*book, error) { return read(pages) })
	show := func(w http.ResponseWriter, r *http.Request) {
		b, err := open()
		if err != nil {
			chain.WriteProblem(w, r, problem.Of(err))
			return
		}
		made, ok := b.made[pageAt(b.texts, r.PathValue("page"))]
		if !ok {
			chain.WriteProblem(w, r, problem.NotFound())
			return
		}
		page, err := made()
		if err != nil {
			chain.WriteProblem(w, r, problem.Of(err))
			return
		}
		reference.Serve(w, "text/html; charset=utf-8", page)
	}
	mux.HandleFunc("GET "+root, show)
	mux.HandleFunc("GET "+root+"/{page...}", show)
	mux.HandleFunc("GET "+stylePath, func(w http.ResponseWriter, _ *http.Request) { reference.Serve(w, "text/css; charset=utf-8", style) })
}

// book is the documentation.
type book struct {
	texts map[string]string // in Markdown, by path
	order []string
	parts []part
	// made makes each page, once.
	made map[string]func() ([]byte, error)
}

// part is a heading of the index, and the pages below it.
type part struct {
	Title string
	Pages []entry
}

// entry leads to a page. Here is the page on which it stands.
type entry struct {
	Title, Address string
	Here           bool
}

// read reads all pages, and makes none yet.
func read(pages fs.FS) (*book, error) {
	t, err := template.New("page").Parse(layout)
	if err != nil {
		return nil, fmt.Errorf("read the layout of the documentation: %w", err)
	}
	b := &book{texts: map[string]string{}, made: map[string]func() ([]byte, error){}}
	err = fs.WalkDir(pages, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ending {
			return err
		}
		text, err := fs.ReadFile(pages, name)
		b.texts[name] = string(text)
		b.made[name] = sync.OnceValues(func() ([]byte, error) { return b.make(t, name) })
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the documentation: %w", err)
	}
	b.order, b.parts = docs.Order(b.texts, docs.Index), partsOf(b.texts[docs.Index])
	return b, nil
}

// make makes a page.
func (b *book) make(t *template.Template, name string) ([]byte, error) {
	body, err := render(name, b.texts)
	if err != nil {
		return nil, fmt.Errorf("write page %s of the documentation: %w", name, err)
	}
	shown := struct {
		Title          string
		Parts          []part
		Body           template.HTML
		Previous, Next *entry
	}{Title: titleOf(b.texts[name]), Parts: marked(b.parts, address(name)), Body: body}
	for i, other := range b.order {
		if other != name {
			continue
		}
		if i > 0 {
			shown.Previous = b.entry(b.order[i-1])
		}
		if i+1 < len(b.order) {
			shown.Next = b.entry(b.order[i+1])
		}
	}
	var out bytes.Buffer
	if err := t.Execute(&out, shown); err != nil {
		return nil, fmt.Errorf("write page %s of the documentation: %w", name, err)
	}
	return out.Bytes(), nil
}

func (b *book) entry(name string) *entry {
	return &entry{Title: titleOf(b.texts[name]), Address: address(name)}
}

// pageAt is the page that an address below the root is about, with or without the ending of its file; the address as it is when
// there is none. It is pure.
func pageAt(texts map[string]string, asked string) string {
	asked = strings.Trim(asked, "/")
	for _, name := range []string{asked, asked + ending, path.Join(asked, docs.Index)} {
		if _, ok := texts[name]; ok {
			return name
		}
	}
	return asked
}

// address is where a page is served.
func address(name string) string {
	name = strings.TrimSuffix(name, ending)
	if path.Base(name)+ending == docs.Index {
		name = path.Dir(name)
	}
	return path.Join(root, name)
}

var (
	heading = regexp.MustCompile(`(?m)^# (.+)$`)
	indexed = regexp.MustCompile(`(?m)^## (.+)$|^\| \[([^\]]+)\]\(([^)#:]+)\)`)
)

// titleOf is the first heading of a page, as text.
func titleOf(text string) string {
	found := heading.FindStringSubmatch(text)
	if found == nil {
		return "KQueen"
	}
	return strings.ReplaceAll(found[1], "`", "")
}

// partsOf are the headings of the index with the pages in the tables below them. The reference of the REST API, which is no
// page in Markdown, is put behind the page about that.
func partsOf(index string) []part {
	var parts []part
	for _, found := range indexed.FindAllStringSubmatch(index, -1) {
		name := path.Clean(found[3])
		switch {
		case found[1] != "":
			parts = append(parts, part{Title: found[1]})
		case len(parts) > 0 && !strings.HasPrefix(name, ".."):
			last := &parts[len(parts)-1]
			last.Pages = append(last.Pages, entry{Title: found[2], Address: address(name)})
			if address(name) == path.Dir(reference.Path)+"/api" {
				last.Pages = append(last.Pages, entry{Title: "REST operations", Address: reference.Path})
			}
		}
	}
	return parts
}

// marked are the parts with the entry marked that leads to an address, or to the folder of it.
func marked(parts []part, here string) []part {
	all := make([]part, 0, len(parts))
	for _, p := range parts {
		pages := make([]entry, 0, len(p.Pages))
		for _, e := range p.Pages {
			e.Here = here == e.Address || strings.HasPrefix(here, e.Address+"/")
			pages = append(pages, e)
		}
		all = append(all, part{Title: p.Title, Pages: pages})
	}
	return all
}
