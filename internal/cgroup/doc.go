// Package cgroup reads the limits of the control groups that this process is in (cgroups(7)): those of its own group
// and of all groups above it that it can see, of version 1 and 2. The smallest program:
//
//	if limit, ok := cgroup.Memory(); ok {
//		fmt.Println("at most", limit.Max, "bytes, by", limit.File)
//	}
//
// It changes nothing. A limit that cannot be read does not count, as on systems without control groups.
package cgroup
