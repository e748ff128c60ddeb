package profile

import (
	"reflect"
	"testing"
	"time"
)

func TestFill(t *testing.T) {
	trial := Trial{
		Name: "x", Begin: []string{"session {name}"}, Apply: []string{"timer {hh:mm:ss}", "in {minutes}", "in {seconds} s"},
		Confirm: []string{"session {name} commit"}, Pending: "show {name}", Note: "within {minutes} minutes", Source: "y",
	}
	for _, tt := range []struct {
		within                  time.Duration
		clock, minutes, seconds string
	}{
		{5 * time.Minute, "00:05:00", "5", "300"},
		{0, "00:01:00", "1", "60"},
		{time.Second, "00:01:00", "1", "60"},
		{90*time.Minute + 29*time.Second, "01:30:00", "90", "5400"},
		{-time.Hour, "00:01:00", "1", "60"},
	} {
		want := Trial{
			Name: "x", Begin: []string{"session s1"},
			Apply:   []string{"timer " + tt.clock, "in " + tt.minutes, "in " + tt.seconds + " s"},
			Confirm: []string{"session s1 commit"}, Cancel: []string{}, Pending: "show s1",
			Note: "within " + tt.minutes + " minutes", Source: "y",
		}
		if got := trial.Fill(tt.within, "s1"); !reflect.DeepEqual(got, want) {
			t.Errorf("Fill(%v, s1) = %+v, want %+v", tt.within, got, want)
		}
	}
	if trial.Begin[0] != "session {name}" {
		t.Errorf("Fill has changed the trial itself, to %+v", trial)
	}
}

// The steps of the devices for which they are known best.
func TestTrials(t *testing.T) {
	for name, want := range map[string][3]string{
		"juniper_junos": {"commit confirmed 5", "commit", "rollback 1"},
		"arista_eos":    {"commit timer 00:05:00", "configure session n commit", "configure session n abort"},
		"cisco_iosxr":   {"commit confirmed minutes 5", "commit", ""},
		"vyos":          {"commit-confirm 5", "confirm", ""},
		"nokia_sros":    {"commit confirmed 5", "commit confirmed accept", "commit confirmed cancel"},
		"huawei_vrp":    {"commit trial 300", "commit", "abort trial"},
	} {
		p, _ := Get(name)
		if len(p.Trials) == 0 {
			t.Errorf("%s has no trial", name)
			continue
		}
		f := p.Trials[0].Fill(5*time.Minute, "n")
		got := [3]string{f.Apply[0], f.Confirm[0]}
		if len(f.Cancel) > 0 {
			got[2] = f.Cancel[0]
		}
		if got != want {
			t.Errorf("%s: apply, confirm and cancel begin with %q, want %q", name, got, want)
		}
	}
}

func TestSteady(t *testing.T) {
	p, _ := Get("cisco_ios")
	const config = "Building configuration...\n\nCurrent configuration : 3781 bytes\n!\n" +
		"! Last configuration change at 13:05:32 UTC Mon Mar 1 2021 by admin\n!\nhostname r1\nntp clock-period 17179869\nend\n"
	const want = "Building configuration...\n\nCurrent configuration : <volatile> bytes\n!\n" +
		"! Last configuration change at <volatile>\n!\nhostname r1\nntp clock-period <volatile>\nend\n"
	if got, n := Steady(config, p.Volatile); got != want || n != 3 {
		t.Errorf("Steady of\n%s\nhas %d replacements:\n%s\nwant 3:\n%s", config, n, got, want)
	}
	// Twice the same.
	if got, n := Steady(want, p.Volatile); got != want {
		t.Errorf("Steady of a steady configuration has %d replacements:\n%s", n, got)
	}
	for _, text := range []string{"", "\n", "hostname r1", "! Last configuration change at"} {
		if got, n := Steady(text, p.Volatile); got != text || n != 0 {
			t.Errorf("Steady(%q) = %q, %d, want it unchanged", text, got, n)
		}
	}
}
