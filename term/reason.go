package term

// A Reason says why an action was refused or failed, more finely than its Kind. A program that serves callers of its own
// uses it to advise them in their words: which tool to call, which flag to set. Error.Advice has the same advice for
// callers of this library.
type Reason string

// The reasons of a session's errors.
const (
	ReasonNoSession       Reason = "no such session"
	ReasonLoginAsks       Reason = "the login asks a question"
	ReasonOpening         Reason = "the session is still opening"
	ReasonNoFiles         Reason = "the protocol carries no files"
	ReasonNulByte         Reason = "the command holds a NUL byte"
	ReasonCanceledRunning Reason = "the call was canceled, the command goes on"

	// About the lock.
	ReasonNoTask      Reason = "the call names no task"
	ReasonHeldTakable Reason = "another task holds the lock, which may be taken over"
	ReasonNotHeld     Reason = "the task does not hold the lock"
	ReasonTakenOver   Reason = "the lock was taken over, and is free now"
	ReasonConsole     Reason = "a console needs its lock"

	// About the terminal, for a command.
	ReasonRunning       Reason = "a command runs in the terminal"
	ReasonQueued        Reason = "commands are queued for the terminal"
	ReasonNotFree       Reason = "the terminal did not become free"
	ReasonNotReady      Reason = "the terminal shows no prompt"
	ReasonOtherPrompt   Reason = "the last line is not the prompt that was expected"
	ReasonUnsurePrompt  Reason = "the last line may not be a shell's prompt"
	ReasonDevicePrompt  Reason = "the last line looks like a device's prompt"
	ReasonCustomMarker  Reason = "the shell cannot print a custom marker"
	ReasonNoChannelLane Reason = "the session has no channel lane"
)

// A Limit is a bound that an operator sets.
type Limit string

// The limits.
const (
	LimitSessions     Limit = "open sessions"
	LimitOutput       Limit = "output kept for all sessions"
	LimitWaitingReads Limit = "waiting reads"
)

// A Setting is something that an operator allows or forbids as a whole.
type Setting string

// The settings.
const (
	SettingTakeOver    Setting = "taking over locks"
	SettingLocalFiles  Setting = "files of this machine"
	SettingRemoteFiles Setting = "files of other machines"
)

// A Field names a part of a request that is wrong.
type Field string

// The fields.
const (
	FieldData     Field = "Data"
	FieldKey      Field = "Key"
	FieldLane     Field = "Lane"
	FieldProtocol Field = "Protocol"
	FieldStream   Field = "Stream"
	FieldTask     Field = "Task"
)
