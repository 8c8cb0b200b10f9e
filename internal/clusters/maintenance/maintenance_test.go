package maintenance

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
)

func at(text string) time.Time {
	t, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		panic(err)
	}
	return t
}

func until(text string) *metav1.Time {
	t := metav1.NewTime(at(text))
	return &t
}

func TestOpens(t *testing.T) {
	night := v1alpha1.MaintenanceWindow{Schedule: "0 2 * * *", DurationSeconds: 2 * 3600}
	sunday := v1alpha1.MaintenanceWindow{Schedule: "0 22 * * SUN", DurationSeconds: 8 * 3600}
	for name, c := range map[string]struct {
		of        *v1alpha1.Maintenance
		now, want string
		frozen    bool
	}{
		"None":           {nil, "2026-11-26 12:00", "2026-11-26 12:00", false},
		"Empty":          {&v1alpha1.Maintenance{}, "2026-11-26 12:00", "2026-11-26 12:00", false},
		"Before":         {&v1alpha1.Maintenance{Windows: []v1alpha1.MaintenanceWindow{night}}, "2026-11-26 01:59", "2026-11-26 02:00", false},
		"AtItsBeginning": {&v1alpha1.Maintenance{Windows: []v1alpha1.MaintenanceWindow{night}}, "2026-11-26 02:00", "2026-11-26 02:00", false},
		"Within":         {&v1alpha1.Maintenance{Windows: []v1alpha1.MaintenanceWindow{night}}, "2026-11-26 03:59", "2026-11-26 03:59", false},
		"AtItsEnd":       {&v1alpha1.Maintenance{Windows: []v1alpha1.MaintenanceWindow{night}}, "2026-11-26 04:00", "2026-11-27 02:00", false},
		"OverMidnight":   {&v1alpha1.Maintenance{Windows: []v1alpha1.MaintenanceWindow{sunday}}, "2026-11-30 05:00", "2026-11-30 05:00", false}, // a Monday
		"TheFirstOfTwo":  {&v1alpha1.Maintenance{Windows: []v1alpha1.MaintenanceWindow{sunday, night}}, "2026-11-26 12:00", "2026-11-27 02:00", false},
		"InATimeZone":    {&v1alpha1.Maintenance{Windows: []v1alpha1.MaintenanceWindow{night}, TimeZone: "Europe/Prague"}, "2026-11-26 00:30", "2026-11-26 01:00", false},
		"Frozen":         {&v1alpha1.Maintenance{FreezeEndTime: until("2027-01-07 00:00")}, "2026-12-24 20:00", "2027-01-07 00:00", true},
		"FrozenInWindow": {&v1alpha1.Maintenance{Windows: []v1alpha1.MaintenanceWindow{night}, FreezeEndTime: until("2027-01-07 12:00")}, "2026-12-24 03:00", "2027-01-08 02:00", true},
		"FreezeIsOver":   {&v1alpha1.Maintenance{Windows: []v1alpha1.MaintenanceWindow{night}, FreezeEndTime: until("2026-01-07 12:00")}, "2026-12-24 03:00", "2026-12-24 03:00", false},
	} {
		t.Run(name, func(t *testing.T) {
			calendar, err := Parse(c.of)
			if err != nil {
				t.Fatal(err)
			}
			if got := calendar.Opens(at(c.now)); !got.Equal(at(c.want)) || calendar.Frozen(at(c.now)) != c.frozen {
				t.Errorf("got %s, frozen %v; want %s, %v", got, calendar.Frozen(at(c.now)), c.want, c.frozen)
			}
		})
	}
}

func TestParse(t *testing.T) {
	for want, w := range map[string]v1alpha1.MaintenanceWindow{
		"spec.maintenance.windows[0].schedule: ":       {Schedule: "at night", DurationSeconds: 3600},
		"spec.maintenance.windows[0].schedule: it is ": {Schedule: "@every 1h", DurationSeconds: 3600},
		"there is no such day":                         {Schedule: "0 0 30 2 *", DurationSeconds: 3600},
		"spec.maintenance.windows[0].durationSeconds: 60 s has to be from 900 (15 minutes) to 604800 (7 days)": {Schedule: "@daily", DurationSeconds: 60},
	} {
		if _, err := Parse(&v1alpha1.Maintenance{Windows: []v1alpha1.MaintenanceWindow{w}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := Parse(&v1alpha1.Maintenance{TimeZone: "Mars/Olympus", Windows: []v1alpha1.MaintenanceWindow{{Schedule: "@daily", DurationSeconds: 3600}}}); err == nil || !strings.Contains(err.Error(), "spec.maintenance.timeZone") {
		t.Errorf("got %v", err)
	}
}
