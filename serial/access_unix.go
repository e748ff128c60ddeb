//go:build unix

package serial

import (
	"os/user"
	"strconv"
)

// groupName returns the name of a group; empty: it has none.
func groupName(id uint32) string {
	group, err := user.LookupGroupId(strconv.FormatUint(uint64(id), 10))
	if err != nil {
		return ""
	}
	return group.Name
}
