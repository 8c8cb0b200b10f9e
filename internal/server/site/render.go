package site

import (
	"bytes"
	"html/template"
	"net/url"
	"path"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

const firstOfAll = 100

// render makes HTML of a page. Links to other pages lead to where these are served; those to what is in the repository and is
// no page become text. It is pure.
func render(name string, texts map[string]string) (template.HTML, error) {
	markdown := goldmark.New(
		goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
		goldmark.WithParserOptions(parser.WithAutoHeadingID(), parser.WithASTTransformers(util.Prioritized(links{name, texts}, firstOfAll))),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(noHTML{}, firstOfAll))),
	)
	var out bytes.Buffer
	if err := markdown.Convert([]byte(texts[name]), &out); err != nil {
		return "", err
	}
	return template.HTML(out.String()), nil //nolint:gosec // the pages are ours, and HTML in them is left out
}

// links changes the links of a page.
type links struct {
	page  string
	texts map[string]string
}

// Transform is called by the parser, with a whole page.
func (l links) Transform(page *ast.Document, _ text.Reader, _ parser.Context) {
	var found []*ast.Link
	_ = ast.Walk(page, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if link, ok := node.(*ast.Link); ok && entering {
			found = append(found, link)
		}
		return ast.WalkContinue, nil
	})
	for _, link := range found {
		to, ok := l.target(string(link.Destination))
		if ok {
			link.Destination = []byte(to)
			continue
		}
		for child := link.FirstChild(); child != nil; child = link.FirstChild() {
			link.Parent().InsertBefore(link.Parent(), link, child)
		}
		link.Parent().RemoveChild(link.Parent(), link)
	}
}

// target is where a link leads when the page is served; false when that is nowhere.
func (l links) target(written string) (string, bool) {
	to, err := url.Parse(written)
	if err != nil || to.IsAbs() || to.Path == "" {
		return written, err == nil
	}
	name := path.Join(path.Dir(l.page), to.Path)
	if _, ok := l.texts[name]; !ok {
		return "", false
	}
	return (&url.URL{Path: address(name), Fragment: to.Fragment}).String(), true
}

// noHTML leaves HTML out, of which comments for tests and for generators are all that there is.
type noHTML struct{}

// RegisterFuncs is called by the renderer.
func (noHTML) RegisterFuncs(to renderer.NodeRendererFuncRegisterer) {
	leaveOut := func(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) { return ast.WalkSkipChildren, nil }
	to.Register(ast.KindHTMLBlock, leaveOut)
	to.Register(ast.KindRawHTML, leaveOut)
}
