package audit

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/cli/clitest"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
)

// run gives a command to a server that answers so, and returns data, words and the error.
func run(t *testing.T, answers http.Handler, verify verifier, args ...string) (data, words string, err error) {
	t.Helper()
	t.Setenv(connection.DataDirVariable, clitest.Serve(t, answers))
	t.Setenv(connection.OrganizationVariable, "blue")
	var out, said bytes.Buffer
	e := connection.New(nil, &out, &said)
	root := &cobra.Command{Use: "kqueen", SilenceErrors: true, SilenceUsage: true}
	e.Flags.Register(root)
	root.AddCommand(NewCommand(e, verify))
	root.SetArgs(append([]string{"audit"}, args...))
	err = root.ExecuteContext(t.Context())
	return out.String(), said.String(), err
}

// TestExportWholeOrNot: a file is the whole export, or what it was before.
func TestExportWholeOrNot(t *testing.T) {
	const record, seal = `{"record":{"sequence":1}}` + "\n", `{"seal":{}}` + "\n"
	cases := map[string]struct {
		answer http.Handler
		before string
		left   string
		code   int
		want   string
	}{
		"whole":       {clitest.Answer(200, "application/jsonl", record+seal), "old", record + seal, exit.OK, ""},
		"cut off":     {clitest.Answer(200, "application/jsonl", record), "old", "old", exit.Failed, "the export was cut off"},
		"the first":   {clitest.Answer(200, "application/jsonl", record), "", "", exit.Failed, "the export was cut off"},
		"refused":     {clitest.Answer(403, clitest.Problem, `{"code":"forbidden","detail":"no"}`), "old", "old", exit.Denied, "export the audit log: "},
		"another URL": {clitest.Answer(200, "text/html", "<html>"), "old", "old", exit.Failed, "the export was cut off"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "log.jsonl")
			if c.before != "" {
				if err := os.WriteFile(file, []byte(c.before), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			data, words, err := run(t, c.answer, nil, "export", "--file", file)
			wantError(t, c.code, c.want, err)
			if data != "" || strings.Contains(words, "wrote") != (err == nil) {
				t.Errorf("printed %q and said %q", data, words)
			}
			left, err := os.ReadFile(file)
			if string(left) != c.left || os.IsNotExist(err) != (c.left == "") {
				t.Errorf("the file is %q, %v, want %q", left, err, c.left)
			}
			if entries, err := os.ReadDir(filepath.Dir(file)); err != nil || len(entries) > 1 {
				t.Errorf("%v are left beside it, %v", entries, err)
			}
		})
	}
}

func wantError(t *testing.T, code int, want string, err error) {
	t.Helper()
	if err == nil && want == "" {
		return
	}
	if err == nil || want == "" || exit.CodeOf(err) != code || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v with code %d, want %q with code %d", err, exit.CodeOf(err), want, code)
	}
}

// TestVerifyExport: scripts learn by the exit code that a log is not whole, whatever else is printed.
func TestVerifyExport(t *testing.T) {
	head := rest.AuditHead{Sequence: 42, Hash: "9f86"}
	cases := map[string]struct {
		args     []string
		report   *rest.AuditReport
		complete bool
		err      error
		data     string
		words    string
		code     int
		want     string
	}{
		"whole":             {nil, &rest.AuditReport{Head: head}, true, nil, "42:9f86\n", "", exit.OK, ""},
		"of a part":         {nil, &rest.AuditReport{Head: head}, false, nil, "42:9f86\n", "the export is of a part of the log", exit.OK, ""},
		"changed":           {nil, &rest.AuditReport{Head: head, Problems: []rest.AuditProblem{{Detail: "record 7 was\x1b[2J changed"}}}, true, nil, "42:9f86\n", "", exit.Failed, "the audit log is not whole:\n  record 7 was[2J changed"},
		"changed, and more": {[]string{"-o", "json"}, &rest.AuditReport{Head: head, More: true, Problems: []rest.AuditProblem{{Detail: "x"}}}, true, nil, `"more": true`, "", exit.Failed, "  x\n  and more"},
		"no export":         {nil, nil, false, errors.New("line 1: none"), "", "", exit.Failed, "check the export: line 1: none"},
		"with a head":       {[]string{"--head", "1:ab"}, nil, false, nil, "", "", exit.Usage, "--head is for the log itself"},
		"with no head":      {[]string{"--head", "-1:ab"}, nil, false, nil, "", "", exit.Usage, "must be SEQUENCE:HASH"},
		"with half a head":  {[]string{"--head", "1:"}, nil, false, nil, "", "", exit.Usage, "must be SEQUENCE:HASH"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "log.jsonl")
			if err := os.WriteFile(file, []byte("export"), 0o600); err != nil {
				t.Fatal(err)
			}
			verify := func(from io.Reader) (*rest.AuditReport, bool, error) {
				if read, err := io.ReadAll(from); err != nil || string(read) != "export" {
					t.Errorf("it is given %q, %v", read, err)
				}
				return c.report, c.complete, c.err
			}
			data, words, err := run(t, http.NotFoundHandler(), verify, append([]string{"verify", "--file", file}, c.args...)...)
			wantError(t, c.code, c.want, err)
			if !strings.Contains(data, c.data) || !strings.Contains(words, c.words) || c.words == "" && words != "" {
				t.Errorf("printed %q and said %q, want %q and %q", data, words, c.data, c.words)
			}
		})
	}
	if _, _, err := run(t, http.NotFoundHandler(), nil, "verify", "--file", "/none/log.jsonl"); err == nil || !strings.Contains(err.Error(), "/none/log.jsonl") {
		t.Errorf("got %v, want that there is no such file", err)
	}
}
