package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ptyctl/internal/lab"
)

// A benchFleet is a command on all hosts of a rack, by one program.
type benchFleet struct {
	name      string
	command   func() *exec.Cmd
	took, cpu []time.Duration
}

// run runs it once.
func (f *benchFleet) run(b *testing.B, hosts int) {
	b.Helper()
	cmd := f.command()
	begin := time.Now()
	out, err := cmd.CombinedOutput()
	f.took = append(f.took, time.Since(begin))
	f.cpu = append(f.cpu, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()) // and those it has waited for
	if err != nil || !strings.Contains(string(out), "zlib 1.3") {
		b.Fatalf("%s on %d hosts: %v:\n%s", f.name, hosts, err, lab.Tail(string(out), 2000))
	}
}

// Wall-clock and processor time of one command on 40 servers, 16 at a time, beside clush and parallel-ssh in turns. They
// are not among the programs that the tests need: apt-get install clustershell pssh.
//
//	go test -run '^$' -bench FleetRivals -benchtime 10x ./integration/bench
func BenchmarkFleetRivals(b *testing.B) {
	const hosts, fanout = 40, 16
	var missing []string
	for program, debian := range map[string]string{"clush": "clustershell", "parallel-ssh": "pssh"} {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, debian)
		}
	}
	if len(missing) > 0 {
		b.Fatalf("nothing to compare with: apt-get install %s, and run this benchmark again", strings.Join(missing, " "))
	}
	r := lab.NewRack(b, hosts, 1)
	var names []string
	for i := range hosts {
		names = append(names, r.Name(i))
	}
	ssh := "-F " + r.SSHConfig + " -o UserKnownHostsFile=" + r.KnownHosts + " -o StrictHostKeyChecking=yes -o BatchMode=yes"
	other := func(name string, args ...string) func() *exec.Cmd {
		return func() *exec.Cmd {
			cmd := exec.Command(name, args...)
			cmd.Env = []string{"HOME=" + r.Dir, "PATH=/usr/bin:/bin", "LANG=C.UTF-8"}
			return cmd
		}
	}
	all := []*benchFleet{
		{name: "ptyctl", command: func() *exec.Cmd {
			return r.Home.Command("fleet", "run", "--config", r.Config, "--max-parallel", fmt.Sprint(fanout), r.Hosts(), "--", r.Command)
		}},
		{name: "clush", command: other("clush", "-n", "-b", "-S", "-f", fmt.Sprint(fanout), "-o", ssh, "-w", r.Hosts(), r.Command)},
		{name: "pssh", command: other("parallel-ssh", "-i", "-p", fmt.Sprint(fanout), "-t", "0", "-x", ssh, "-H",
			strings.Join(names, " "), r.Command)},
	}
	for _, f := range all { // each host has started a shell before it counts
		f.run(b, hosts)
		f.took, f.cpu = nil, nil
	}
	n := 0
	for b.Loop() {
		for i := range all {
			all[(n+i)%len(all)].run(b, hosts)
		}
		n++
	}
	for i, f := range all {
		took, cpu := benchQuantile(f.took, 50), benchQuantile(f.cpu, 50)
		b.ReportMetric(benchMillis(took), f.name+"-ms")
		b.ReportMetric(benchMillis(cpu), f.name+"-cpu-ms")
		if i > 0 {
			b.ReportMetric(float64(benchQuantile(all[0].took, 50))/float64(took), "x-"+f.name)
			b.ReportMetric(float64(benchQuantile(all[0].cpu, 50))/float64(cpu), "cpu-x-"+f.name)
		}
	}
	b.ReportMetric(0, "ns/op")
}

// A benchRun is the result of a command on many hosts.
type benchRun struct {
	Groups []struct {
		Hosts    string
		N        int
		ExitCode int   `json:"exit_code"`
		Bytes    int64 `json:"output_bytes"`
	}
	Failures []struct {
		ErrorCode string `json:"error_code"`
	}
	text string
	took time.Duration
}

// benchRunOf calls the tool.
func benchRunOf(b *testing.B, c *lab.Client, arguments string, values ...any) (r benchRun) {
	b.Helper()
	begin := time.Now()
	r.text = c.Call(b, "ptyctl_fleet", arguments, values...).Text
	r.took = time.Since(begin)
	if err := json.Unmarshal([]byte(r.text), &r); err != nil {
		b.Fatalf("the result %s: %v", r.text, err)
	}
	return r
}

// Peak of the memory with 500 hosts at once: none ends before all run the command. A peak of 100 MiB is a failure.
//
//	go test -run '^$' -bench FleetMemory -benchtime 1x ./integration/bench
func BenchmarkFleetMemory(b *testing.B) {
	const hosts, most = 500, 100
	r := lab.NewRack(b, hosts, 13)
	for b.Loop() {
		dir := b.TempDir()
		gate, began := filepath.Join(dir, "gate"), filepath.Join(dir, "began")
		if err := os.Mkdir(began, 0o700); err != nil {
			b.Fatal(err)
		}
		c := r.Connect(b, "--toolsets", "core,fleet", "--results", "compact")
		b.ReportMetric(float64(lab.StatusField(b, c.PID, "VmRSS"))/1024, "MiB-at-rest")
		opened := make(chan error, 1)
		go func() {
			lab.Eventually(b, "the command on all hosts", func() bool {
				entries, err := os.ReadDir(began)
				return err == nil && len(entries) == hosts
			})
			opened <- os.WriteFile(gate, nil, 0o600)
		}()
		a := benchRunOf(b, c, `{"action":"run","hosts":[%s],"cmd":%s,"max_parallel":500,"normalize":"volatile"}`, r.Hosts(),
			"mktemp -p "+began+" >/dev/null; "+lab.UntilFile(gate)+"; uptime")
		if err := <-opened; err != nil || len(a.Groups) != 1 || a.Groups[0].N != hosts {
			b.Fatalf("uptime on %d hosts: %v, %s; want one answer", hosts, err, a.text)
		}
		peak := float64(lab.StatusField(b, c.PID, "VmHWM")) / 1024
		b.ReportMetric(peak, "MiB-peak")
		b.ReportMetric(float64(len(a.text)), "answer-B")
		if peak >= most {
			b.Errorf("%d hosts at once take %.0f MiB, want less than %d", hosts, peak, most)
		}
		c.Finish()
	}
	b.ReportMetric(0, "ns/op")
}

// How much longer 200 hosts take with six in trouble than without: one has another file, one hangs until its time of 10
// s is over, one refuses, one has another key, one dies, and one prints 1 GiB. Over is the time beyond these 10 s, as a
// multiple of the time of the other hosts alone.
//
//	go test -run '^$' -bench FleetTrouble -benchtime 1x ./integration/bench
func BenchmarkFleetTrouble(b *testing.B) {
	const (
		odd, hangs, floods, rekeyed, refuses = 6, 17, 42, 99, 133
		dies                                 = 200 // the only host of the last server
		limit                                = 10 * time.Second
	)
	r := lab.NewRack(b, 201, 5)
	began := filepath.Join(r.Dir, "began")
	r.Does(b, odd, "sed s/1.24/1.18/ same; exit")
	r.Does(b, hangs, "sleep 60 & wait")
	r.Does(b, floods, "head -c 1073741824 /dev/zero; exit 2")
	r.Does(b, dies, ": > "+began+"; sleep 60 & wait")
	r.Rekey(b, rekeyed)
	r.Refuses(b, refuses)
	trouble := []string{r.Name(odd), r.Name(hangs), r.Name(floods), r.Name(rekeyed), r.Name(refuses), r.Name(dies)}
	var good, over, peak, flood []float64
	for b.Loop() {
		_ = os.Remove(began)
		r.Server(dies).Stop(b)
		r.Server(dies).Again(b)
		c := r.Connect(b, "--toolsets", "core,fleet", "--results", "compact")
		alone := benchRunOf(b, c, `{"action":"run","hosts":%s,"cmd":%s}`, []string{r.Hosts(), "!" + strings.Join(trouble, ",")},
			r.Command)
		c.Finish()
		c = r.Connect(b, "--toolsets", "core,fleet", "--results", "compact")
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			lab.Eventually(b, "the command on the host that dies", func() bool {
				_, err := os.Stat(began)
				return err == nil
			})
			r.Server(dies).Stop(b)
		}()
		all := benchRunOf(b, c, `{"action":"run","hosts":%s,"cmd":%s,"timeout_ms":%s}`,
			[]string{strings.Join(trouble, ","), r.Hosts()}, r.Command, limit.Milliseconds())
		<-stopped
		b.Logf("%s", all.text)
		if len(alone.Groups) != 1 || len(all.text) > 2000 || all.Groups[0].N != 195 {
			b.Fatalf("%s\n%s\nwant one answer, and that of 195 hosts in 2,000 bytes", alone.text, all.text)
		}
		good = append(good, alone.took.Seconds())
		over = append(over, (all.took-limit).Seconds()/alone.took.Seconds())
		one := benchRunOf(b, c, `{"action":"run","hosts":[%s],"cmd":%s,"timeout_ms":100000,"wait_ms":50000}`, r.Name(floods), r.Command)
		if len(one.Groups) != 1 || one.Groups[0].ExitCode != 2 || one.Groups[0].Bytes != 1<<30 {
			b.Fatalf("the host that floods, alone: %s; want exit 2, and 1 GiB", one.text)
		}
		flood = append(flood, one.took.Seconds())
		peak = append(peak, float64(lab.StatusField(b, c.PID, "VmHWM"))/1024)
		c.Finish()
	}
	b.ReportMetric(good[0], "s-good")
	b.ReportMetric(slices.Min(flood), "s-flood")
	b.ReportMetric(slices.Max(over), "over")
	b.ReportMetric(slices.Max(peak), "MiB-peak")
	b.ReportMetric(0, "ns/op")
}
