import { createLogger } from '../runtime/lifecycle/logger.ts';
import { runProcess } from '../runtime/lifecycle/run-process.ts';
import { loadStockConfig } from './config.ts';
import { startStockService } from './service.ts';

await runProcess('stock-svc', (env, signal) => {
  const config = loadStockConfig(env);
  return startStockService(config, createLogger('stock-svc', config.LOG_LEVEL), signal);
});
