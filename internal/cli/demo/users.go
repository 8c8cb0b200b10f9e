package demo

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"text/tabwriter"

	"kqueen.io/kqueen/internal/platform/atomicfile"
)

// passwords are those of users, by name.
type passwords map[string]string

// readPasswords reads the file; one that is not there has none.
func readPasswords(file string) (passwords, error) {
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the passwords of the demonstration: %w", err)
	}
	return parsePasswords(data), nil
}

// parsePasswords is pure. A line has a user, a password, and what else is of use to a reader.
func parsePasswords(data []byte) passwords {
	known := passwords{}
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) >= 2 && !strings.HasPrefix(line, "#") {
			known[fields[0]] = fields[1]
		}
	}
	return known
}

// write keeps the passwords of all users who have one, for the user that runs KQueen alone.
func (p passwords) write(file string) error { return atomicfile.Write(file, p.format(), 0o600) }

// format is pure.
func (p passwords) format() []byte {
	var out bytes.Buffer
	fmt.Fprintln(&out, "# Users of the demonstration: sign in with these at /portal/. A password that was changed there is not changed here.")
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "# USER\tPASSWORD\tROLES")
	for _, m := range users() {
		if p[m.user] == "" {
			continue
		}
		var roles []string
		for _, o := range organizations() {
			for _, in := range o.members {
				if in.user == m.user {
					roles = append(roles, o.name+":"+string(in.role))
				}
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", m.user, p[m.user], strings.Join(roles, ","))
	}
	_ = w.Flush() // a buffer takes all
	return out.Bytes()
}

// newPassword has 100 bits, in four groups that can be typed.
func newPassword() string {
	const groups, length = 4, 5
	text := strings.ToLower(rand.Text())
	var parts []string
	for i := range groups {
		parts = append(parts, text[i*length:(i+1)*length])
	}
	return strings.Join(parts, "-")
}
