package session

import "bytes"

// emit takes output of the command. Where the last line may be the prompt, it is held back until it is finished.
func (t *typedRun) emit(p []byte) {
	p = t.cut.strip(p)
	if !t.holding {
		_, _ = t.x.stdout.Write(p)
		return
	}
	t.held = append(t.held, p...)
	end := bytes.LastIndexByte(t.held, '\n') + 1
	if len(t.held)-end > lineBack {
		end = len(t.held)
	}
	_, _ = t.x.stdout.Write(t.held[:end])
	t.held = append(t.held[:0], t.held[end:]...)
}

// show puts out what is held back.
func (t *typedRun) show() {
	_, _ = t.x.stdout.Write(t.held)
	t.held = t.held[:0]
}

// letGo ends the holding back. If the last line is the prompt, nothing is undecided any more, and it is dropped.
func (t *typedRun) letGo(prompt bool) {
	if prompt {
		t.holding = true
		t.emit(t.undecided())
		t.emit(t.cut.stop())
		t.held = t.held[:bytes.LastIndexByte(t.held, '\n')+1]
		if before, _ := t.s.promptLine(t.prompt); before != "" { // what stands before the prompt is output
			t.held = append(append(t.held, before...), '\n')
		}
	}
	t.show()
	t.holding = t.scan == nil
}
