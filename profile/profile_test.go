package profile

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"ptyctl/vt"
)

// TestFamilies checks that every file is complete and that its patterns agree with their
// samples.
func TestFamilies(t *testing.T) {
	names := Names()
	if len(names) == 0 {
		t.Fatal("there is no file")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			p, err := load(files, "families/"+name+".toml")
			if err != nil {
				t.Fatal(err)
			}
			for _, problem := range problems(p) {
				t.Error(problem)
			}
		})
	}
}

// problems returns the faults of a profile.
func problems(p Profile) (found []string) {
	check := func(ok bool, problem string) {
		if !ok {
			found = append(found, problem)
		}
	}
	check(p.About != "", "about is empty")
	check(p.Class == ClassDevice || p.Class == ClassPosix, "class is "+p.Class)
	check(slices.Contains([]string{"auto", "cr", "crlf", "lf"}, p.Enter), "enter is "+p.Enter)
	check(p.PagingOff != nil, "paging_off is missing")
	check(p.Prompt != nil, "prompt is missing")
	check(p.ConfigPrompt != nil || p.ConfigEnter == "", "config_prompt is missing")
	check(len(p.Pagers) > 0 || len(p.PagingOff) == 0, "pagers are missing")
	check(len(p.Sources) > 0, "sources are missing")
	check(p.Reload == "" || len(p.Questions) > 0 || p.Class == ClassPosix, "questions are missing, and a reload asks one")
	check(len(p.Errors) > 0, "errors are missing")
	sample := func(name string, x *Pattern) {
		if x == nil {
			return
		}
		if x.Regex == nil {
			found = append(found, name+" has no regex")
			return
		}
		check(len(x.Matches) > 0, name+" has no line that it matches")
		check(len(x.Rejects) > 0, name+" has no line that it rejects")
		for _, line := range x.Matches {
			check(x.Regex.MatchString(line), name+" does not match "+line)
		}
		for _, line := range x.Rejects {
			check(!x.Regex.MatchString(line), name+" matches "+line)
		}
	}
	anchored := func(name string, x *Pattern) {
		sample(name, x)
		if x != nil && x.Regex != nil {
			check(
				strings.HasPrefix(strings.TrimPrefix(x.Regex.String(), "(?i)"), "^") && strings.HasSuffix(x.Regex.String(), "$"),
				name+" is not bound to the whole line",
			)
		}
	}
	anchored("prompt", p.Prompt)
	anchored("config_prompt", p.ConfigPrompt)
	for i := range p.Pagers {
		anchored("a pager", &p.Pagers[i])
	}
	for i := range p.Errors {
		x := &p.Errors[i]
		sample("an error", x)
		if x.Regex != nil {
			check(
				strings.HasPrefix(x.Regex.String(), "(?m)^") || strings.HasPrefix(x.Regex.String(), "(?mi)^"),
				"an error is not bound to the start of a line: "+x.Regex.String(),
			)
			for _, line := range x.Matches { // the caller sees this line as a hint, and nothing of the next
				check(string(x.Regex.Find([]byte("first\n"+line+"\nlast\n"))) == line, "an error does not return the line "+line)
			}
		}
	}
	for i := range p.Volatile {
		x := &p.Volatile[i]
		sample("a volatile", x)
		check(x.Regex == nil || strings.HasPrefix(x.Regex.String(), "(?m)^"), "a volatile is not bound to the start of a line")
	}
	check(len(p.Volatile) == 0 || p.ShowConfig != "", "show_config is missing")
	for i := range p.Trials {
		found = append(found, faults(&p.Trials[i])...)
	}
	if p.Prompt == nil || p.Prompt.Regex == nil {
		return found
	}
	// A line must match only one kind of pattern.
	if p.ConfigPrompt != nil {
		for _, line := range p.ConfigPrompt.Matches {
			check(p.Prompt.Regex.MatchString(line), "prompt does not match the config prompt "+line)
		}
	}
	for _, x := range slices.Concat(p.Pagers, p.Errors) {
		for _, line := range x.Matches {
			check(!p.Prompt.Regex.MatchString(line), "prompt matches the pager or error "+line)
		}
	}
	for _, x := range p.Pagers {
		for _, line := range p.Prompt.Matches {
			check(!x.Regex.MatchString(line), "a pager matches the prompt "+line)
		}
	}
	return found
}

// faults returns what a trial lacks, or has too much of.
func faults(t *Trial) (found []string) {
	if t.Name == "" || t.Source == "" || len(t.Confirm) == 0 || len(t.Begin) == 0 {
		found = append(found, "a trial has no name, source, begin or confirm")
	}
	f := t.Fill(5*time.Minute, "n")
	for _, step := range slices.Concat(f.Begin, f.Apply, f.Confirm, f.Cancel, []string{f.Pending, f.Note}) {
		if at := unfilled.FindString(step); at != "" {
			found = append(found, "the trial "+t.Name+" has a blank that nothing fills: "+at)
		}
	}
	return found
}

// unfilled is a blank of a trial. JSON has quotes behind its braces.
var unfilled = regexp.MustCompile(`\{[a-z:]+\}`)

// A profile without samples must be refused.
func TestProblems(t *testing.T) {
	const head = "about='x'\nclass='device'\nenter='auto'\npaging_off=['x']\nsources=['x']\n"
	const prompt = "[prompt]\nregex='^r1#$'\nmatches=['r1#']\nrejects=['x']\n[config_prompt]\nregex='^r1#$'\nmatches=['r1#']\nrejects=['x']\n"
	const pager = "[[pagers]]\nregex='^more$'\nmatches=['more']\nrejects=['x']\n"
	const errs = "[[errors]]\nregex='(?m)^bad'\nmatches=['bad']\nrejects=['x bad']\n"
	tests := []struct{ text, want string }{
		{head + prompt + pager + errs, ""},
		{prompt + pager + errs, "about is empty"},
		{head + pager + errs, "prompt is missing"},
		{head + prompt + errs, "pagers are missing"},
		{head + prompt + pager, "errors are missing"},
		{head + prompt + pager + strings.Replace(errs, "matches=['bad']", "", 1), "no line that it matches"},
		{head + prompt + pager + strings.Replace(errs, "rejects=['x bad']", "", 1), "no line that it rejects"},
		{head + prompt + pager + strings.Replace(errs, "'x bad'", "'badly'", 1), "matches badly"},
		{head + prompt + pager + strings.Replace(errs, "'bad'", "'good'", 1), "does not match good"},
		{head + prompt + pager + strings.Replace(errs, "(?m)^", "", 1), "start of a line"},
		{head + prompt + strings.Replace(pager, "^", "", 1) + errs, "whole line"},
		{head + prompt + strings.ReplaceAll(pager, "more", "r1#") + errs, "pager matches the prompt"},
		{head + strings.Replace(prompt, "regex='^r1#$'", "", 1) + pager + errs, "prompt has no regex"},
		{strings.Replace(head, "sources=['x']", "", 1) + prompt + pager + errs, "sources are missing"},
		{"reload='x'\n" + head + prompt + pager + errs, "questions are missing"},
		{"config_enter='x'\n" + head + prompt[:strings.Index(prompt, "[config")] + pager + errs, "config_prompt is missing"},
		{head + prompt + pager + errs + "[[volatile]]\nregex='x'\nmatches=['x']\nrejects=['y']", "show_config is missing"},
		{head + prompt + pager + errs + "[[volatile]]\nregex='x'\nmatches=['x']\nrejects=['y']", "start of a line"},
		{head + prompt + pager + errs + "[[trials]]\nname='x'\nsource='x'\nbegin=['x']", "no name, source"},
		{head + prompt + pager + errs + "[[trials]]\nname='x'\nsource='x'\nbegin=['x {hours}']\nconfirm=['y']", "{hours}"},
	}
	for _, tt := range tests {
		p, err := parse([]byte(tt.text))
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(problems(p), "; ")
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"promt = 'x'":             "x.toml",
		"[prompt]\nregex = '('":   "x.toml",
		"about = 1":               "x.toml",
		"[prompt]\nregexp = 'x'":  "x.toml",
		"[[pagers]]\nmatch = [1]": "x.toml",
	} {
		_, err := load(fstest.MapFS{"families/x.toml": {Data: []byte(text)}}, "families/x.toml")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

// Callers rely on the names: no name may disappear.
func TestNames(t *testing.T) {
	want := []string{
		"arista_eos", "aruba_aoscx", "cisco_asa", "cisco_ios", "cisco_iosxr", "cisco_nxos", "dell_os10", "fortios", "frr",
		"hp_comware", "huawei_vrp", "juniper_junos", "mikrotik_routeros", "nokia_sros", "openwrt", "paloalto_panos",
		"posix", "u_boot", "vyos",
	}
	if got := Names(); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	for _, name := range want {
		if p, ok := Get(name); !ok || p.Name != name {
			t.Errorf("%s: %v, %v", name, p.Name, ok)
		}
	}
	for _, name := range []string{"", "cisco", "CISCO_IOS", "zzz"} {
		if _, ok := Get(name); ok {
			t.Errorf("there is a profile %q", name)
		}
	}
}

// Patterns are matched against the line as a person sees it.
func TestOnTheLineSeen(t *testing.T) {
	p, _ := Get("frr")
	back := strings.Repeat("\b", 10)
	for raw, want := range map[string]bool{
		"line\r\n --More-- \x00": true,
		"line\r\n --More-- \x00" + back + strings.Repeat(" ", 10) + back: false,
	} {
		if got := p.Pagers[0].Regex.MatchString(vt.LastLine([]byte(raw))); got != want {
			t.Errorf("%q: pager %v", raw, got)
		}
	}
	if raw := " --More-- " + back + strings.Repeat(" ", 10) + back + "r1# "; !p.Prompt.Regex.MatchString(
		vt.LastLine([]byte(raw)),
	) {
		t.Errorf("%q is no prompt", raw)
	}
}

// A profile as JSON has the values of its file.
func TestJSON(t *testing.T) {
	p, _ := Get("cisco_ios")
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Name   string
		Prompt struct {
			Regex   string
			Matches []string
		}
		PagingOff []string `json:"paging_off"`
	}
	if err := json.Unmarshal(b, &got); err != nil || got.Name != "cisco_ios" ||
		got.Prompt.Regex != p.Prompt.Regex.String() ||
		len(got.Prompt.Matches) == 0 ||
		len(got.PagingOff) == 0 {
		t.Errorf("%+v, %v: %s", got, err, b)
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, err := load(files, "families/huawei_vrp.toml"); err != nil {
			b.Fatal(err)
		}
	}
}
