package health_test

import (
	"testing"

	"kqueen.io/kqueen/internal/platform/health"
)

func TestJudge(t *testing.T) {
	exit := &health.Exit{Code: 1, Log: "boom"}
	cases := map[string]struct {
		programs         []health.Component
		failing, waiting string
	}{
		"Nothing":      {nil, "", "the programs to start"},
		"Ready":        {[]health.Component{{Name: "a", State: health.Ready}}, "", ""},
		"Starting":     {[]health.Component{{Name: "a", State: health.Ready}, {Name: "b", State: health.Starting}, {Name: "c", State: health.Waiting}}, "", "b, c said"},
		"Stopping":     {[]health.Component{{Name: "a", State: health.Stopping}}, "", "a"},
		"StartedAgain": {[]health.Component{{Name: "a", State: health.Starting, LastExit: exit}}, "a ended with code 1: boom and is being restarted", ""},
		"FailsFirst":   {[]health.Component{{Name: "a", State: health.NotReady}, {Name: "b", State: health.Starting}}, "a does not answer", "b"},
		"NewState":     {[]health.Component{{Name: "a", State: "Frozen"}}, "a does not answer", ""},
	}
	remark := func(c health.Component) string {
		if c.State == health.Waiting {
			return "said"
		}
		return ""
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			failing, waiting := health.Status{Components: c.programs}.Judge(remark)
			if failing != c.failing || waiting != c.waiting {
				t.Errorf("got %q, %q; want %q, %q", failing, waiting, c.failing, c.waiting)
			}
		})
	}
}
