package cgroup

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A Limit is the limit of a control group.
type Limit struct {
	Max  int64
	Used int64  // by all processes of the group, when it was read. Memory: without the cache of files, which gives way
	File string // where Max is from
}

// Left returns how much may still be used; it is not negative.
func (l Limit) Left() int64 { return max(0, l.Max-l.Used) }

// Memory returns the least limit of memory, in bytes. It reports false without a limit.
func Memory() (Limit, bool) { return least(system("/").memory(), func(l Limit) int64 { return l.Max }) }

// MemoryLeft returns the limit of memory that leaves the least room, in bytes. It reports false without a limit.
func MemoryLeft() (Limit, bool) { return least(system("/").memory(), Limit.Left) }

// Processes returns the limit of processes and threads that leaves the least room. It reports false without a limit.
func Processes() (Limit, bool) { return least(system("/").processes(), Limit.Left) }

// least returns the limit with the least result of by.
func least(limits []Limit, by func(Limit) int64) (Limit, bool) {
	if len(limits) == 0 {
		return Limit{}, false
	}
	return slices.MinFunc(limits, func(a, b Limit) int { return cmp.Compare(by(a), by(b)) }), true
}

// unlimited is above every limit in use: version 1 says so in place of "max" (memory.limit_in_bytes is then the
// greatest multiple of the page size).
const unlimited = 1 << 62

// system is the folder that has /proc and the mounted control groups: "/", or that of a test.
type system string

// memory returns the limits of memory of all groups.
func (s system) memory() (limits []Limit) {
	for _, dir := range s.groups("memory") {
		for _, f := range [][2]string{
			{"memory.max", "memory.current"},
			{"memory.high", "memory.current"}, // above it, a group is slowed down until it hardly runs
			{"memory.limit_in_bytes", "memory.usage_in_bytes"},
		} {
			if l, ok := s.read(dir, f[0], f[1]); ok {
				l.Used = max(0, l.Used-s.cache(dir))
				limits = append(limits, l)
			}
		}
	}
	return limits
}

// cache returns how many bytes of a group's memory are the cache of files.
func (s system) cache(dir string) (n int64) {
	text, _ := os.ReadFile(filepath.Join(string(s), dir, "memory.stat"))
	prefix := ""
	if bytes.Contains(text, []byte("\ntotal_active_file ")) { // version 1: with the groups below
		prefix = "total_"
	}
	for line := range strings.Lines(string(text)) {
		switch name, value, _ := strings.Cut(strings.TrimSpace(line), " "); name {
		case prefix + "active_file", prefix + "inactive_file":
			size, _ := strconv.ParseInt(value, 10, 64)
			n += size
		}
	}
	return n
}

// processes returns the limits of processes and threads of all groups.
func (s system) processes() (limits []Limit) {
	for _, dir := range s.groups("pids") {
		if l, ok := s.read(dir, "pids.max", "pids.current"); ok {
			limits = append(limits, l)
		}
	}
	return limits
}

// read returns the limit in a group's file.
func (s system) read(dir, most, used string) (Limit, bool) {
	path := filepath.Join(dir, most)
	limit, ok := s.number(path)
	if !ok || limit >= unlimited {
		return Limit{}, false
	}
	now, _ := s.number(filepath.Join(dir, used))
	return Limit{Max: limit, Used: now, File: path}, true
}

// number returns the number in a file. It reports false for "max" and any other text.
func (s system) number(path string) (int64, bool) {
	text, err := os.ReadFile(filepath.Join(string(s), path))
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil
}

// groups returns the folders of this process's own group and of those above it, in the hierarchies that can have the
// controller.
func (s system) groups(controller string) (dirs []string) {
	own, _ := os.ReadFile(filepath.Join(string(s), "proc/self/cgroup"))
	mounts, _ := os.ReadFile(filepath.Join(string(s), "proc/self/mountinfo"))
	for line := range strings.Lines(string(own)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3) // hierarchy, controllers, path
		if len(f) != 3 {
			continue
		}
		unified := f[0] == "0" && f[1] == ""
		if !unified && !slices.Contains(strings.Split(f[1], ","), controller) {
			continue
		}
		for line := range strings.Lines(string(mounts)) {
			if m, ok := parseMount(line); ok && (unified && m.kind == "cgroup2" ||
				!unified && m.kind == "cgroup" && slices.Contains(m.options, controller)) {
				dirs = append(dirs, m.upward(f[2])...)
				break // other mounts show the same hierarchy
			}
		}
	}
	return dirs
}

// A mount is one line of proc_pid_mountinfo(5).
type mount struct {
	root, point string // the folder of the file system that is seen at point
	kind        string
	options     []string // of the file system
}

func parseMount(line string) (m mount, ok bool) {
	before, after, ok := strings.Cut(line, " - ")
	f, g := strings.Fields(before), strings.Fields(after)
	if !ok || len(f) < 5 || len(g) < 3 {
		return m, false
	}
	return mount{root: f[3], point: f[4], kind: g[0], options: strings.Split(g[2], ",")}, true
}

// upward returns the folders of the group and of those above it, up to the mount point. In a container the mount may
// not show the group by its own name: then the mount point is the nearest that can be seen.
func (m mount) upward(group string) (dirs []string) {
	rel, err := filepath.Rel(m.root, group)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		rel = "."
	}
	for {
		dirs = append(dirs, filepath.Join(m.point, rel))
		if rel == "." {
			return dirs
		}
		rel = filepath.Dir(rel)
	}
}
