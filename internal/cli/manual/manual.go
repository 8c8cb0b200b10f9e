// Package manual writes the reference of a command line, as pages in Markdown: an index, and a page for each command below the
// root, with those below it as sections.
//
// It is pure. Only the test of package cli may import it, which holds the pages in docs/reference/cli to the commands.
package manual

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Index is the file name of the page that lists all commands.
const Index = "README.md"

const origin = "<!-- generated from the commands by: go test ./internal/cli -run TestReference -update -->\n\n"

// Pages returns the pages by their file names. Hidden commands and flags are left out.
func Pages(root *cobra.Command) map[string]string {
	root.InitDefaultCompletionCmd()
	pages := map[string]string{Index: index(root)}
	for _, cmd := range shown(root) {
		var b strings.Builder
		b.WriteString(origin)
		section(&b, cmd, 1)
		pages[cmd.Name()+".md"] = strings.TrimSpace(b.String()) + "\n"
	}
	return pages
}

// index lists the commands, and says what they have in common.
func index(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(origin + "# Command line\n\n")
	prose(&b, root.Long)
	for _, topic := range root.Commands() {
		if topic.IsAdditionalHelpTopicCommand() && !topic.Hidden {
			fmt.Fprintf(&b, "## %s\n\n", topic.Short)
			prose(&b, topic.Long)
		}
	}
	b.WriteString("## Flags of every command\n\n")
	flags(&b, root.PersistentFlags())
	b.WriteString("## Commands\n\n| Command | |\n|---|---|\n")
	for _, cmd := range shown(root) {
		list(&b, cmd, cmd.Name()+".md")
	}
	return strings.TrimSpace(b.String()) + "\n"
}

// list writes the rows of a command and of those below it, which are on the same page.
func list(b *strings.Builder, cmd *cobra.Command, page string) {
	at := page
	if cmd.Parent().HasParent() {
		at += "#" + anchor(cmd)
	}
	fmt.Fprintf(b, "| [%s](%s) | %s |\n", cmd.CommandPath(), at, cell(cmd.Short))
	for _, sub := range shown(cmd) {
		list(b, sub, page)
	}
}

// anchor is what Markdown makes of the command's heading.
func anchor(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// section writes what there is to say of a command, and then of those below it.
func section(b *strings.Builder, cmd *cobra.Command, level int) {
	const deepest = 4
	fmt.Fprintf(b, "%s %s\n\n", strings.Repeat("#", min(level, deepest)), cmd.CommandPath())
	prose(b, cmp.Or(cmd.Long, cmd.Short+"."))
	if cmd.Runnable() && !cmd.HasSubCommands() {
		fmt.Fprintf(b, "```text\n%s\n```\n\n", cmd.UseLine())
	}
	if len(cmd.Aliases) > 0 {
		fmt.Fprintf(b, "Also: `%s`\n\n", strings.Join(cmd.Aliases, "`, `"))
	}
	if cmd.Example != "" {
		fmt.Fprintf(b, "```console\n%s\n```\n\n", unindent(cmd.Example))
	}
	flags(b, cmd.LocalNonPersistentFlags())
	for _, sub := range shown(cmd) {
		section(b, sub, level+1)
	}
}

// shown are the commands directly below one that users see.
func shown(cmd *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(slices.Clone(cmd.Commands()), func(c *cobra.Command) bool {
		return !c.IsAvailableCommand() || c.Name() == "help"
	})
}

// flags writes the table of flags.
func flags(b *strings.Builder, set *pflag.FlagSet) {
	var rows strings.Builder
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := strings.TrimSpace("--" + f.Name + " " + value)
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		fmt.Fprintf(&rows, "| `%s` | %s | %s |\n", strings.ReplaceAll(name, "|", `\|`), standard(f), cell(usage))
	})
	if rows.Len() > 0 {
		fmt.Fprintf(b, "| Flag | Default | |\n|---|---|---|\n%s\n", rows.String())
	}
}

// standard is the default of a flag, where it says more than that nothing was given.
func standard(f *pflag.Flag) string {
	if slices.Contains([]string{"", "0", "false", "[]", "0s", "<nil>"}, f.DefValue) {
		return ""
	}
	return "`" + f.DefValue + "`"
}

// prose writes a help text, whose indented lines are columns or commands and stay as they are.
func prose(b *strings.Builder, text string) {
	verbatim := false
	for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		indented := strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "\t")
		if indented && !verbatim {
			b.WriteString("```text\n")
		}
		if verbatim && !indented {
			b.WriteString("```\n")
		}
		if verbatim = indented; !verbatim {
			line = escape(line)
		}
		b.WriteString(line + "\n")
	}
	if verbatim {
		b.WriteString("```\n")
	}
	b.WriteString("\n")
}

// markdown are characters that mean something in Markdown; those that users write in help texts mean themselves.
var markdown = strings.NewReplacer(`\`, `\\`, "`", "\\`", "#", `\#`, "*", `\*`, "_", `\_`, "<", `\<`, ">", `\>`, "[", `\[`, "]", `\]`)

func escape(text string) string { return markdown.Replace(text) }

// cell is a text in a cell of a table.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(escape(text)), " "), "|", `\|`)
}

// unindent takes away the indent that all lines of an example have.
func unindent(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, "  ")
	}
	return strings.Join(lines, "\n")
}
