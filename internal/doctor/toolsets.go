package doctor

import (
	"os/exec"
	"slices"

	"ptyctl/config"
)

// toolsets checks that the program of the tool set r2 is there, if the set is offered.
func (r *Report) toolsets(cfg config.Config) {
	const check = "tool set r2"
	if !slices.Contains(cfg.Server.Toolsets, "r2") {
		return
	}
	found, err := exec.LookPath(cfg.Toolsets.R2.Program)
	if err != nil {
		r.add(Finding{
			Status: failing, Check: check, Text: err.Error(),
			Do: "install radare2 or rizin, or set toolsets.r2.program to the path of one",
		})
		return
	}
	r.ok(check, "%s; whether it is radare2 or rizin shows r2_open", found)
}
