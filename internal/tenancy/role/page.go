package role

import (
	"fmt"
	"strings"
)

// Page is the table for readers, in Markdown.
func Page() string {
	var b strings.Builder
	b.WriteString(`# What each role may do

Members of an organization have one of four roles; each includes those to its right. The table is the one from which
KQueen makes the RBAC objects of the admin plane, which decide. No role may read Secrets.

| A member may | owner | operator | developer | viewer |
|---|---|---|---|---|
`)
	for _, right := range Rights() {
		fmt.Fprintf(&b, "| %s |", right.What)
		for _, r := range All() {
			mark := ""
			if right.Has(r) {
				mark = "✓"
			}
			fmt.Fprintf(&b, " %s |", mark)
		}
		b.WriteString("\n")
	}
	b.WriteString(`
A user who has signed in sees the releases, the addons and the shared provisioners. Administrators of the installation may do all of
this in every organization; they alone create and delete organizations, say what an organization may have and use (its quota,
provisioners, data stores, releases, machines, and what its pods may do), see who can sign in, and say by which identity providers. An organization that has an owner keeps
one, unless an administrator takes the last one away. Saying that a user or group belongs to it, or has a higher role, takes
[a fresh session](../guides/sign-in.md#a-fresh-session) besides, as service accounts and the break-glass kubeconfig do.

## As the API server is told

| A member may | In | Resources | RBAC verbs |
|---|---|---|---|
`)
	for _, right := range Rights() {
		where := "the organization's namespace"
		if right.Organization {
			where = "the Organization itself"
		}
		for _, rule := range right.Rules {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", right.What, where, strings.Join(rule.Resources, ", "), strings.Join(rule.Verbs, ", "))
		}
	}
	return b.String()
}
