package cgroup

import (
	"os"
	"path/filepath"
	"testing"
)

const (
	none1 = "9223372036854771712"
	v2    = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	v1    = "31 25 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" +
		"32 25 0:28 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n" +
		"33 25 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
)

func TestLimits(t *testing.T) {
	for name, c := range map[string]struct {
		files                map[string]string
		memory, processes    string // the file that has the limit; empty: none
		wantMemory, wantLeft int64
		wantRoom             int64 // of memory
	}{
		"none": {files: map[string]string{}},
		"version 2, own group": {
			files: map[string]string{
				"proc/self/cgroup": "0::/a/b\n", "proc/self/mountinfo": v2,
				"sys/fs/cgroup/a/b/memory.max": "67108864\n", "sys/fs/cgroup/a/b/memory.current": "1000\n",
				"sys/fs/cgroup/a/memory.max": "max\n", "sys/fs/cgroup/a/b/pids.max": "max\n",
			},
			memory: "/sys/fs/cgroup/a/b/memory.max", wantMemory: 64 << 20, wantRoom: 64<<20 - 1000,
		},
		"version 2, a parent is tighter": {
			files: map[string]string{
				"proc/self/cgroup": "0::/a/b\n", "proc/self/mountinfo": v2,
				"sys/fs/cgroup/a/b/memory.max": "67108864\n", "sys/fs/cgroup/a/memory.max": "33554432\n",
				"sys/fs/cgroup/a/b/memory.current": "67108000\n", "sys/fs/cgroup/a/memory.current": "30000000\n",
				"sys/fs/cgroup/a/b/memory.stat": "anon 1\nactive_file 200\ninactive_file 36\nactive_anon 5\n",
				"sys/fs/cgroup/a/b/pids.max":    "100\n", "sys/fs/cgroup/a/b/pids.current": "10\n",
				"sys/fs/cgroup/a/pids.max": "200\n", "sys/fs/cgroup/a/pids.current": "190\n",
			},
			memory: "/sys/fs/cgroup/a/memory.max", wantMemory: 32 << 20, wantRoom: 67108864 - 67108000 + 236,
			processes: "/sys/fs/cgroup/a/pids.max", wantLeft: 10,
		},
		"version 2, slowed down": {
			files: map[string]string{
				"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": v2,
				"sys/fs/cgroup/a/memory.max": "67108864\n", "sys/fs/cgroup/a/memory.high": "50000000\n",
			},
			memory: "/sys/fs/cgroup/a/memory.high", wantMemory: 50000000, wantRoom: 50000000,
		},
		"version 1": {
			files: map[string]string{
				"proc/self/cgroup": "9:pids:/p\n4:memory:/m\n0::/\n", "proc/self/mountinfo": v1,
				"sys/fs/cgroup/memory/m/memory.limit_in_bytes": "67108864\n",
				"sys/fs/cgroup/memory/m/memory.usage_in_bytes": "67000000\n",
				"sys/fs/cgroup/memory/m/memory.stat": "cache 9\nactive_file 1\ninactive_file 2\n" +
					"total_active_file 1000\ntotal_inactive_file 500\n",
				"sys/fs/cgroup/memory/memory.limit_in_bytes": none1 + "\n",
				"sys/fs/cgroup/pids/p/pids.max":              "5\n", "sys/fs/cgroup/pids/p/pids.current": "9\n",
			},
			memory: "/sys/fs/cgroup/memory/m/memory.limit_in_bytes", wantMemory: 64 << 20,
			wantRoom: 67108864 - 67000000 + 1500, processes: "/sys/fs/cgroup/pids/p/pids.max",
		},
		"version 1, unlimited": {
			files: map[string]string{
				"proc/self/cgroup": "4:memory:/\n", "proc/self/mountinfo": v1,
				"sys/fs/cgroup/memory/memory.limit_in_bytes": none1 + "\n",
			},
		},
		"a container that sees its group as the root": {
			files: map[string]string{
				"proc/self/cgroup":                           "4:memory:/docker/1138\n",
				"proc/self/mountinfo":                        "31 25 0:27 /docker/1138 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
				"sys/fs/cgroup/memory/memory.limit_in_bytes": "67108864\n",
			},
			memory: "/sys/fs/cgroup/memory/memory.limit_in_bytes", wantMemory: 64 << 20, wantRoom: 64 << 20,
		},
		"a group that cannot be seen": {
			files: map[string]string{
				"proc/self/cgroup": "0::/../other\n", "proc/self/mountinfo": v2,
				"sys/fs/cgroup/memory.max": "67108864\n", "sys/fs/other/memory.max": "1\n",
			},
			memory: "/sys/fs/cgroup/memory.max", wantMemory: 64 << 20, wantRoom: 64 << 20,
		},
		"no sense": {
			files: map[string]string{
				"proc/self/cgroup": "x\n0:\n0::/a\n", "proc/self/mountinfo": "30 - \n - cgroup2\n" + v2,
				"sys/fs/cgroup/a/memory.max": "many\n", "sys/fs/cgroup/a/pids.max": "",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for path, text := range c.files {
				path = filepath.Join(root, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			l, ok := least(system(root).memory(), func(l Limit) int64 { return l.Max })
			if ok != (c.memory != "") || l.File != c.memory || l.Max != c.wantMemory {
				t.Errorf("least of memory() = %+v, %v, want %d of %q", l, ok, c.wantMemory, c.memory)
			}
			if l, ok := least(system(root).memory(), Limit.Left); ok != (c.memory != "") || l.Left() != c.wantRoom {
				t.Errorf("least room of memory() = %+v, %v, want %d", l, ok, c.wantRoom)
			}
			l, ok = least(system(root).processes(), Limit.Left)
			if ok != (c.processes != "") || l.File != c.processes || l.Left() != c.wantLeft {
				t.Errorf("least of processes() = %+v, %v, want %d left by %q", l, ok, c.wantLeft, c.processes)
			}
		})
	}
}
