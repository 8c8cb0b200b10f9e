package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
)

// newAuditCommand returns `cluster audit`.
func newAuditCommand(e *connection.Env) *cobra.Command {
	var since time.Duration
	var format string
	cmd := &cobra.Command{
		Use:   "audit NAME",
		Short: "Show the audit log of a hosted cluster's API server",
		Long: `Show what users and programs did in a cluster whose control plane KQueen hosts,
oldest first. How much the API server records is spec.auditLog of the
cluster: metadata, full or none. It keeps 30 days, and at most eleven files of 10 MiB.

With -o json each event is a line as the API server wrote it (audit.k8s.io/v1), and
the last line is a seal: an answer without it is incomplete.`,
		Example:           "  kqueen cluster audit demo --since 1h\n  kqueen cluster audit demo -o json >demo.jsonl\n  kqueen cluster update demo --spec '{\"auditLog\":\"full\"}'",
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.Cluster, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if since < 0 {
				return exit.UsageError(cmd, "--since must not be negative")
			}
			var out io.Writer
			switch format {
			case "json":
				out = e.Stdout
			case "table":
				out = &eventPrinter{out: e.Stdout}
			default:
				return exit.UsageError(cmd, "--output: %q is not one of table, json", format)
			}
			d, err := e.API()
			if err != nil {
				return err
			}
			var from time.Time
			if since > 0 {
				from = time.Now().Add(-since)
			}
			return d.ExportClusterAudit(cmd.Context(), e.Organization(), args[0], from, out)
		},
	}
	cmd.Flags().DurationVar(&since, "since", 0, "only what was done since, such as 24h for the last day")
	cmd.Flags().StringVarP(&format, "output", "o", "table", "table or json")
	_ = cmd.RegisterFlagCompletionFunc("output", command.OneOf("table", "json"))
	_ = cmd.RegisterFlagCompletionFunc("since", command.NoCompletion)
	return cmd
}

// eventPrinter prints a line for each event that is written to it as a line of JSON.
type eventPrinter struct {
	out  io.Writer
	rest []byte
}

// Write implements io.Writer.
func (p *eventPrinter) Write(data []byte) (int, error) {
	p.rest = append(p.rest, data...)
	for {
		line, rest, whole := bytes.Cut(p.rest, []byte("\n"))
		if !whole {
			return len(data), nil
		}
		p.rest = rest
		if text := eventLine(line); text != "" {
			if _, err := fmt.Fprintln(p.out, text); err != nil {
				return 0, err
			}
		}
	}
}

// eventLine is an event in words; empty for the seal of a log that could be read whole. It is pure.
func eventLine(line []byte) string {
	var event struct {
		Kind           string    `json:"kind"`
		Verb           string    `json:"verb"`
		RequestURI     string    `json:"requestURI"`
		StageTimestamp time.Time `json:"stageTimestamp"`
		User           struct {
			Username string `json:"username"`
		} `json:"user"`
		ObjectRef *struct {
			Resource    string `json:"resource"`
			Namespace   string `json:"namespace"`
			Name        string `json:"name"`
			APIGroup    string `json:"apiGroup"`
			Subresource string `json:"subresource"`
		} `json:"objectRef"`
		ResponseStatus struct {
			Code int `json:"code"`
		} `json:"responseStatus"`
		Seal struct {
			LeftOut int `json:"leftOut"`
		} `json:"seal"`
	}
	if json.Unmarshal(line, &event) != nil {
		return "(a line that cannot be read)"
	}
	if event.Kind != "Event" {
		if event.Seal.LeftOut > 0 {
			return fmt.Sprintf("(%d lines could not be read: they are torn, or are being written)", event.Seal.LeftOut)
		}
		return ""
	}
	what := event.RequestURI
	if o := event.ObjectRef; o != nil {
		what = o.Resource
		if o.APIGroup != "" {
			what += "." + o.APIGroup
		}
		if o.Subresource != "" {
			what += "/" + o.Subresource
		}
		if name := strings.Trim(o.Namespace+"/"+o.Name, "/"); name != "" {
			what += " " + name
		}
	}
	return console.CleanLine(fmt.Sprintf("%s  %d  %s  %s %s", event.StageTimestamp.UTC().Format(time.RFC3339), event.ResponseStatus.Code, event.User.Username, event.Verb, what))
}
