// Loaded into a service's process before its own code (`node --import`): its clock is off by CLOCK_SHIFT_MS, and by CLOCK_STEP_MS more
// from each SIGUSR2 on. Monotonic clocks and timers are not touched, as when somebody sets a machine's clock.
let shiftMs = Number(process.env['CLOCK_SHIFT_MS'] ?? 0);
const stepMs = Number(process.env['CLOCK_STEP_MS'] ?? 0);
const RealDate = Date;
const realNow = Date.now.bind(Date);
Date.now = () => realNow() + shiftMs;
globalThis.Date = new Proxy(RealDate, {
  construct: (target, args: unknown[]) => Reflect.construct(target, args.length === 0 ? [Date.now()] : args) as Date,
});
process.on('SIGUSR2', () => void (shiftMs += stepMs));
