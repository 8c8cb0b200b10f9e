// Package pages reads pages of the documentation: which blocks of commands they have, and which of them are not run, and why.
//
// It is pure and runs nothing: its own test holds every page to it, and the end-to-end tests run what it finds. Only tests
// may import it.
package pages

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Block is a fenced block of a page that is code in a language.
type Block struct {
	// Page is the path of the page in the repository, and Line the line of the block's first fence, from 1.
	Page string
	Line int
	// Language is the word behind the fence, such as "sh".
	Language string
	Text     string
	// NotRun is the reason for which its commands are not run; empty where they are.
	NotRun string
	// By is the script that runs them; empty where they are run with the other blocks of the page.
	By string
	// File is the name under which the commands of the page read the block; empty where they do not.
	File string
}

const (
	// Commands is the language of blocks that are run.
	Commands = "sh"
	// Session is the language of what a terminal shows: commands behind a prompt, and what they print.
	Session = "console"
	prompt  = "$ "
)

var (
	fence   = regexp.MustCompile("^( *)(```+|~~~+)\\s*(\\S*)")
	comment = regexp.MustCompile(`^<!-- (not run|run as|run by): *(.*?) *-->$`)
)

const (
	folder = "docs"
	// generated are pages that are written from the commands, whose examples are tested with those.
	generated  = "docs/reference/cli/"
	markNotRun = "not run"
	markBy     = "run by"
	maxIndent  = 3 // Markdown takes what is indented by more for code
)

// languages are those that a block may have. Another spelling of "sh" would hide commands from those who run them.
func languages() []string { return []string{Commands, Session, "text", "yaml", "json", "go", "ini"} }

// Check says what is wrong with a block that has its language: commands that no test runs have to say why, and what is no
// language of commands has none.
func (b Block) Check() error {
	first, _, _ := strings.Cut(b.Text, "\n")
	switch {
	case !slices.Contains(languages(), b.Language):
		return fmt.Errorf("%s:%d: the block has the language %q; want one of %s", b.Page, b.Line, b.Language, strings.Join(languages(), ", "))
	case b.Language == Session && !strings.HasPrefix(first, prompt) && !strings.HasPrefix(b.Page, generated):
		return fmt.Errorf("%s:%d: a block of %s shows a terminal and begins with %q; commands alone are a block of %s, with a reason where they are not run",
			b.Page, b.Line, Session, prompt, Commands)
	}
	return nil
}

// Blocks returns the blocks of a page in their order. A comment directly before a block is its mark: "<!-- not run: REASON -->",
// "<!-- run by: SCRIPT -->" for commands that a script of test/e2e runs, or "<!-- run as: FILE -->" for what the page's commands
// read as a file. An error names the line of a mark that is before no block, or has no text, and of a fence that is not closed.
func Blocks(page, markdown string) ([]Block, error) {
	var blocks []Block
	var open string // the fence that closes the block
	var before []string
	at := func(line int, format string, args ...any) error {
		return fmt.Errorf("%s:%d: %s", page, line, fmt.Sprintf(format, args...))
	}
	for i, line := range strings.Split(markdown, "\n") {
		number := i + 1
		found := fence.FindStringSubmatch(line)
		last := len(blocks) - 1
		switch {
		case open != "" && found != nil && strings.HasPrefix(found[2], open) && found[3] == "":
			open = ""
		case open != "":
			blocks[last].Text += line + "\n"
		case len(found) > 1 && len(found[1]) > maxIndent:
			return nil, at(number, "the block is indented by %d spaces; want %d at most", len(found[1]), maxIndent)
		case found != nil:
			b := Block{Page: page, Line: number, Language: found[3]}
			if wrong := mark(&b, before); wrong != "" {
				return nil, at(number, "%s", wrong)
			}
			blocks, open, before = append(blocks, b), found[2], nil
		case before != nil:
			return nil, at(number, "the comment %q is not directly before a block", before[0])
		default:
			before = comment.FindStringSubmatch(line)
		}
	}
	if open != "" {
		return nil, at(blocks[len(blocks)-1].Line, "the block is not closed")
	}
	return blocks, nil
}

// mark gives a block what was found directly before it, if anything was, and returns what is wrong with it.
func mark(b *Block, found []string) string {
	switch {
	case found == nil:
	case found[2] == "":
		return fmt.Sprintf("the comment %q says nothing; want a reason, or the name of a file", found[0])
	case found[1] != markNotRun && found[1] != markBy:
		b.File = found[2]
	case b.Language != Commands:
		return fmt.Sprintf("the comment %q is before a block of %q, which is never run", found[0], b.Language)
	case found[1] == markBy:
		b.By = found[2]
	default:
		b.NotRun = found[2]
	}
	return ""
}

// Script returns what Bash runs of a page: its blocks of commands that are run by a script, or those that are run by none when
// that is empty. They run in one shell, up to the first command that fails, whose block it names. It is empty when there are none.
func Script(blocks []Block, by string) string {
	var text strings.Builder
	for _, b := range blocks {
		if b.Language == Commands && b.NotRun == "" && b.By == by {
			fmt.Fprintf(&text, "at=%s:%d\n%s", b.Page, b.Line, b.Text)
		}
	}
	if text.Len() == 0 {
		return ""
	}
	return "set -euo pipefail\ntrap '[ $? = 0 ] || echo \"failed: the block at $at\" >&2' EXIT\n" + text.String()
}

// Read returns the pages of a repository for users, by path: those of docs, and those at the top.
func Read(repository fs.FS) (map[string]string, error) {
	all := map[string]string{}
	err := fs.WalkDir(repository, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && name != folder && !strings.HasPrefix(name, folder+"/"):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".md":
			return nil
		}
		text, err := fs.ReadFile(repository, name)
		all[name] = string(text)
		return err
	})
	return all, err
}
