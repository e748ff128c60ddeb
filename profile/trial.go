package profile

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Trial describes a change of the configuration that undoes itself unless it is confirmed in time: Begin is typed
// first, then the lines of the change, then Apply. From then on the device counts, and only Confirm stops it.
//
// A step is a line to type, or the name of a key in angle brackets, as in <ctrl_x>. In the steps and in Note,
// {minutes}, {seconds}, {hh:mm:ss} and {name} are blanks, which Fill fills in.
type Trial struct {
	Name    string   `toml:"name"    json:"name"`
	Needs   string   `toml:"needs"   json:"needs,omitempty"` // a condition on the device, or the mode for it
	Begin   []string `toml:"begin"   json:"begin,omitempty"`
	Apply   []string `toml:"apply"   json:"apply,omitempty"` // empty: the lines count as they are typed
	Confirm []string `toml:"confirm" json:"confirm"`
	Cancel  []string `toml:"cancel"  json:"cancel,omitempty"`  // undoes the change at once; empty: only time does
	Pending string   `toml:"pending" json:"pending,omitempty"` // a command that says whether the device counts
	Note    string   `toml:"note"    json:"note,omitempty"`
	Source  string   `toml:"source"  json:"source"`
}

// Fill returns the trial for a change that has to be confirmed within a time, of at least a minute. name is for what
// the device keeps under a name: letters, digits and hyphens.
func (t Trial) Fill(within time.Duration, name string) Trial {
	within = max(within.Round(time.Minute), time.Minute)
	minutes := int(within.Minutes())
	blanks := strings.NewReplacer(
		"{minutes}", strconv.Itoa(minutes), "{seconds}", strconv.Itoa(60*minutes),
		"{hh:mm:ss}", fmt.Sprintf("%02d:%02d:00", minutes/60, minutes%60), "{name}", name,
	)
	fill := func(steps []string) []string {
		filled := make([]string, len(steps))
		for i, step := range steps {
			filled[i] = blanks.Replace(step)
		}
		return filled
	}
	t.Begin, t.Apply, t.Confirm, t.Cancel = fill(t.Begin), fill(t.Apply), fill(t.Confirm), fill(t.Cancel)
	t.Note, t.Pending = blanks.Replace(t.Note), blanks.Replace(t.Pending)
	return t
}
