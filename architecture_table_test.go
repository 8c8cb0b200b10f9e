package kqueen_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// table is what each package may import, by its name. Groups, whose names are in capitals, are in it too.
type table map[string]map[string]bool

// parseTable reads a table in the language of importTable: statements that end in ";" and are chains of sets,
// set off by "<", of names, set off by ",". Text from "#" to the end of its line is a comment.
func parseTable(text string) (table, error) {
	t := table{"NONE": {}}
	below := table{} // what stands directly below each name
	for i, statement := range strings.Split(stripComments(text), ";") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		sets, err := parseStatement(statement)
		if err != nil {
			return nil, fmt.Errorf("statement %d: %w", i+1, err)
		}
		for j, set := range sets {
			for _, name := range set {
				if j > 0 && below[name] != nil && !isGroup(name) {
					return nil, fmt.Errorf("statement %d: %s stands above something twice; say all at once", i+1, name)
				}
			}
			for _, name := range set {
				if j == 0 && below[name] == nil && name != "NONE" {
					return nil, fmt.Errorf("statement %d: %s is not known yet; a package stands above something before it stands below", i+1, name)
				}
				if j > 0 {
					below[name] = setOf(below[name], sets[j-1])
				}
			}
		}
	}
	for name := range below {
		if err := t.close(name, below, nil); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// close fills in what name may import: what stands below it, and whatever may be imported there.
func (t table) close(name string, below table, path []string) error {
	if slices.Contains(path, name) {
		return fmt.Errorf("the table has a cycle: %s", strings.Join(append(path, name), " < "))
	}
	if t[name] != nil {
		return nil
	}
	all := map[string]bool{}
	for lower := range below[name] {
		if err := t.close(lower, below, append(slices.Clone(path), name)); err != nil {
			return err
		}
		all[lower] = true
		maps.Copy(all, t[lower])
	}
	t[name] = all
	return nil
}

func parseStatement(text string) ([][]string, error) {
	var sets [][]string
	for part := range strings.SplitSeq(text, "<") {
		var set []string
		for name := range strings.SplitSeq(part, ",") {
			name = strings.TrimSpace(name)
			if name == "" || strings.ContainsFunc(name, unicode.IsSpace) {
				return nil, fmt.Errorf("%q is not a name", name)
			}
			set = append(set, name)
		}
		sets = append(sets, set)
	}
	if len(sets) < 2 {
		return nil, errors.New(`there is no "<"`)
	}
	return sets, nil
}

func stripComments(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		code, _, _ := strings.Cut(line, "#")
		out.WriteString(code + "\n")
	}
	return out.String()
}

func isGroup(name string) bool { return name == strings.ToUpper(name) }

// setOf returns the set with names added.
func setOf(set map[string]bool, names []string) map[string]bool {
	if set == nil {
		set = map[string]bool{}
	}
	for _, name := range names {
		set[name] = true
	}
	return set
}
