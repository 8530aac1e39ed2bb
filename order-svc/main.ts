import { createLogger } from '../runtime/lifecycle/logger.ts';
import { runProcess } from '../runtime/lifecycle/run-process.ts';
import { loadOrderConfig } from './config.ts';
import { startOrderService } from './service.ts';

await runProcess('order-svc', (env, signal) => {
  const config = loadOrderConfig(env);
  return startOrderService(config, createLogger('order-svc', config.LOG_LEVEL), signal);
});
