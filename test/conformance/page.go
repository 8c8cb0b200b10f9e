//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// marks are the lines between which a page holds the result at a level.
func marks(level string) (begins, ends string) {
	return "<!-- What follows is written by the run at the level " + level + ". -->\n",
		"<!-- What is above was written by the run at the level " + level + ". -->\n"
}

// writePage replaces the result at its level in a page.
func (r result) writePage(file string) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	resultBegins, resultEnds := marks(r.Level)
	before, rest, begins := strings.Cut(string(old), resultBegins)
	_, after, ends := strings.Cut(rest, resultEnds)
	if !begins || !ends {
		return fmt.Errorf("write the result: %s lacks one of the lines %q and %q, between which it belongs", file, resultBegins, resultEnds)
	}
	return os.WriteFile(file, []byte(before+resultBegins+r.page()+resultEnds+after), 0o644)
}

// page is the result as it stands in a page.
func (r result) page() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nKubernetes %s, %d nodes on one machine, `%s` on %s, %.0f minutes with up to %d tests at a\ntime:\n\n",
		r.Version, r.Nodes, r.command(), r.Date.UTC().Format(time.DateOnly), r.Took.Minutes(), r.Procs)
	fmt.Fprintf(&b, "| | |\n|---|---|\n| passed | %d |\n| failed | %d |\n| not runnable here | %d |\n\n", len(r.Passed), len(r.Failed), len(r.NotRunnable))
	if len(r.Failed) > 0 {
		b.WriteString("### Failed\n\n")
		for _, s := range r.Failed {
			fmt.Fprintf(&b, "- %s\\\n  %s\n", escape(s.Name), escape(oneLine(s.Message)))
		}
		b.WriteString("\n")
	}
	if len(r.NotRunnable) > 0 {
		b.WriteString("### Not runnable here\n\n")
		for _, name := range sortedKeys(r.NotRunnable) {
			fmt.Fprintf(&b, "- %s\\\n  %s\n", escape(name), escape(r.NotRunnable[name]))
		}
		b.WriteString("\n")
	}
	if r.bounded() {
		return b.String() // those that pass stand in the page once
	}
	b.WriteString("### Passed\n\n")
	for _, s := range r.Passed {
		fmt.Fprintf(&b, "- %s\n", escape(s.Name))
	}
	b.WriteString("\n")
	return b.String()
}

// command is how a run at this level is had again.
func (r result) command() string {
	if r.bounded() {
		return r.Command + " LEVEL=" + r.Level
	}
	return r.Command
}

// escape keeps names from being read as Markdown.
func escape(text string) string {
	return strings.NewReplacer("[", `\[`, "]", `\]`, "*", `\*`, "_", `\_`, "<", `\<`, "`", "\\`", "|", `\|`).Replace(text)
}
