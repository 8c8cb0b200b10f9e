package pki

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestBrief: leaves live for as long as their table says but in a program that was linked for tests, and there what is never
// renewed lives on.
func TestBrief(t *testing.T) {
	const year, hour = leafLife, time.Hour
	for name, tc := range map[string]struct {
		wanted, brief, life, past, again time.Duration
	}{
		"Usual":        {year, 0, year, clockSkew, hour},
		"Brief":        {year, 30 * time.Second, 30 * time.Second, 0, 3 * time.Second},
		"BrieferStill": {10 * time.Minute, hour, 10 * time.Minute, 0, 6 * time.Minute},
		"NeverRenewed": {10 * year, 30 * time.Second, 10 * year, clockSkew, 3 * time.Second},
		"LongLook":     {year, 20 * hour, 20 * hour, 0, hour},
	} {
		t.Run(name, func(t *testing.T) {
			life, past := lifeOf(tc.wanted, tc.brief)
			if again := lookAgain(hour, tc.brief); life != tc.life || past != tc.past || again != tc.again {
				t.Errorf("it lives %s, %s of that before, and is looked at every %s, want %s, %s and %s", life, past, again, tc.life, tc.past, tc.again)
			}
		})
	}
}

// TestNothingIsBriefByItself: the variable is set by the linker alone, and what builds programs for users does not.
func TestNothingIsBriefByItself(t *testing.T) {
	if got, signed := LookAgain(time.Hour), SignFor(); briefly != "" || got != time.Hour || signed != 0 {
		t.Errorf("leaves live for %q, those of kubelets for %s, and are looked at every %s", briefly, signed, got)
	}
	for _, file := range []string{"../../../Makefile", "../../cli/program/program.go"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), "pki.briefly") {
			t.Errorf("%s sets pki.briefly", file)
		}
	}
}

// TestBriefLeavesAreRenewed: a leaf that lives briefly is not due as soon as it is made, and is due before it ends.
func TestBriefLeavesAreRenewed(t *testing.T) {
	briefly = "30s"
	t.Cleanup(func() { briefly = "" })
	now := time.Date(2026, time.May, 4, 12, 0, 0, 0, time.UTC)
	set := Set{
		Authorities: []Authority{{Name: "ca", CommonName: "ca", Lifetime: authorityLife}},
		Leaves:      []Leaf{{Name: "user", Authority: "ca", CommonName: "user", Usage: Client, Lifetime: leafLife}},
	}
	made, _, err := Issue(nil, set, nil, now)
	if err != nil {
		t.Fatal(err)
	}
	due, err := RenewAt(made, set)
	if err != nil || due != now.Add(21*time.Second) {
		t.Errorf("it is due at %s (%v), want 21 seconds later", due, err)
	}
	for after, renewed := range map[time.Duration]bool{0: false, 20 * time.Second: false, 21 * time.Second: true} {
		_, changes, err := Issue(made, set, nil, now.Add(after))
		if err != nil || (len(changes) > 0) != renewed {
			t.Errorf("after %s: %v (%v), want renewed: %t", after, changes, err, renewed)
		}
	}
}
