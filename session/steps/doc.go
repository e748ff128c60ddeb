// Package steps types a list of inputs into a terminal, each when the condition of the one before is met.
//
//	r := steps.Run(ctx, terminal, []steps.Step{
//		{Inputs: []steps.Input{{Data: []byte("admin\r")}}, Wait: steps.Wait{Until: password}},
//		{Inputs: []steps.Input{{Data: secret, Sensitive: true}}, Wait: steps.Wait{Prompt: true}},
//	}, 50*time.Second)
//
// Guarantees:
//
//   - A step is typed once or never. A step not begun when Run returns is never typed.
//   - A condition looks only at the output after its own step, and the echo of the typed text does not meet it.
//   - Run returns with the context, and with its time.
package steps
