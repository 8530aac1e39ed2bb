import assert from 'node:assert/strict';
import { z } from 'zod';
import {
  ConfigError,
  corsOrigins,
  databaseUrl,
  integer,
  isLoopback,
  listenAddress,
  loadConfig,
  logLevel,
  optionalListenAddress,
  optionalText,
  requireTogether,
  onOff,
} from '../../../runtime/lifecycle/config.ts';

const schema = z.object({
  DATABASE_URL: databaseUrl,
  LISTEN_ADDRESS: listenAddress('127.0.0.1:50051'),
  POOL_SIZE: integer(1, 500, 10),
  LOG_LEVEL: logLevel,
  REFLECTION: onOff('on'),
});
const url = 'mysql://user:password@db:3306/orders';

/** The message with which a configuration is refused; undefined when it is taken. */
function refusal(env: NodeJS.ProcessEnv): string | undefined {
  try {
    loadConfig(schema, { DATABASE_URL: url, ...env });
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.message;
  }
  return undefined;
}

/** Which of the values are refused for a variable. */
function refused(variable: string, values: string[]): string[] {
  return values.filter((value) => refusal({ [variable]: value }) !== undefined);
}

describe('loadConfig', () => {
  it('reads what is set, and takes the default for what is not or is set to nothing', () => {
    assert.deepEqual(loadConfig(schema, { DATABASE_URL: url, POOL_SIZE: '7', LOG_LEVEL: '', HOME: '/root' }), {
      DATABASE_URL: url,
      LISTEN_ADDRESS: '127.0.0.1:50051',
      POOL_SIZE: 7,
      LOG_LEVEL: 'info',
      REFLECTION: 'on',
    });
  });

  it('names every wrong variable in one message, and no value', () => {
    const message = refusal({
      DATABASE_URL: 'postgres://root:hunter2@db/orders',
      LISTEN_ADDRESS: '0.0.0.0:hunter2',
      POOL_SIZE: 'hunter2',
      LOG_LEVEL: 'hunter2',
    });
    assert.doesNotMatch(message!, /hunter2|postgres|0\.0\.0\.0/);
    const [first, ...lines] = message!.split('\n');
    assert.equal(first, 'wrong configuration:');
    assert.deepEqual(
      [...new Set(lines.map((line) => line.trim().split(':')[0]))],
      ['DATABASE_URL', 'LISTEN_ADDRESS', 'POOL_SIZE', 'LOG_LEVEL'],
    );
  });

  it('says what a variable must be', () => {
    assert.equal(
      refusal({ POOL_SIZE: '501' }),
      'wrong configuration:\n  POOL_SIZE: must be a whole number from 1 to 500',
    );
    assert.match(refusal({ DATABASE_URL: '' })!, /DATABASE_URL: is required: mysql:\/\/user:password@host/);
  });
});

describe('checks of variables taken together', () => {
  const pair = z.object({ DATABASE_URL: databaseUrl, LEFT: optionalText, RIGHT: optionalText });
  const check = requireTogether({ LEFT: ['RIGHT', 'DATABASE_URL'] });
  const messageOf = (env: NodeJS.ProcessEnv) => {
    try {
      loadConfig(pair, env, check);
    } catch (error) {
      return (error as Error).message;
    }
    return undefined;
  };

  it('pass when nothing is missing', () => {
    assert.equal(messageOf({ DATABASE_URL: url }), undefined);
    assert.equal(messageOf({ DATABASE_URL: url, RIGHT: 'r' }), undefined);
    assert.equal(messageOf({ DATABASE_URL: url, LEFT: 'l', RIGHT: 'r' }), undefined);
  });

  it('name what is missing, in one message with what is wrong by itself', () => {
    const message = messageOf({ LEFT: 'l' });
    assert.match(message!, /^ {2}DATABASE_URL: is required/m);
    assert.match(message!, /^ {2}RIGHT: is required with LEFT$/m);
  });
});

describe('isLoopback', () => {
  it('takes what is this machine as it is written', () => {
    for (const host of ['127.0.0.1', '127.1.2.3', 'localhost', '[::1]']) assert.ok(isLoopback(host), host);
  });

  it('takes nothing else', () => {
    const others = ['0.0.0.0', '[::]', '10.0.0.1', 'localhost.evil.com', '127.0.0.1.evil.com', '::1', '', 'LOCALHOST'];
    for (const host of others) assert.ok(!isLoopback(host), host);
  });
});

describe('integer', () => {
  it('takes whole numbers in decimal, both ends included', () => {
    assert.deepEqual(refused('POOL_SIZE', ['1', '500', '007']), []);
    const wrong = ['0', '501', '-1', '1.5', '1e2', '0x10', ' 7', '7 ', '+7', 'seven', '9999999999999999'];
    assert.deepEqual(refused('POOL_SIZE', wrong), wrong);
  });
});

describe('databaseUrl', () => {
  it('takes MySQL URLs with a host and a database', () => {
    assert.deepEqual(refused('DATABASE_URL', [url, 'mysql://db/orders', 'mysql://u:p%40ss@[::1]:3306/orders']), []);
    const wrong = ['db/orders', 'mysql://db', 'mysql://db/', 'mysql:///orders', 'http://db/orders', 'mysql://'];
    assert.deepEqual(refused('DATABASE_URL', wrong), wrong);
  });
});

describe('listenAddress', () => {
  it('takes hosts with a port', () =>
    assert.deepEqual(
      refused('LISTEN_ADDRESS', ['127.0.0.1:0', '0.0.0.0:65535', 'localhost:50051', '[::1]:50051']),
      [],
    ));

  it('takes nothing without a port, or with one that there is not', () => {
    const wrong = ['127.0.0.1', 'localhost', '127.0.0.1:', '127.0.0.1:65536', ':50051', '50051', '127.0.0.1:http'];
    assert.deepEqual(refused('LISTEN_ADDRESS', wrong), wrong);
  });
});

describe('optionalListenAddress', () => {
  const read = (address?: string) =>
    loadConfig(z.object({ ADDRESS: optionalListenAddress }), { ADDRESS: address }).ADDRESS;

  it('takes an address with a port, or none', () => {
    assert.deepEqual([undefined, '', '127.0.0.1:8080'].map(read), [null, null, '127.0.0.1:8080']);
    for (const wrong of ['none', '8080', '127.0.0.1:']) assert.throws(() => read(wrong), /ADDRESS: must be host:port/);
  });
});

describe('corsOrigins', () => {
  const read = (origins?: string) => loadConfig(z.object({ ORIGINS: corsOrigins }), { ORIGINS: origins }).ORIGINS;

  it('takes origins as browsers send them, and none', () => {
    assert.deepEqual(read(), []);
    assert.deepEqual(read('https://shop.example, http://localhost:3000,http://[::1]:3000'), [
      'https://shop.example',
      'http://localhost:3000',
      'http://[::1]:3000',
    ]);
  });

  it('takes nothing that would never be equal to one, nor one for all', () => {
    const wrong = [
      '*',
      'none',
      'null',
      'shop.example',
      'https://shop.example/',
      'https://shop.example/cart',
      'https://Shop.example',
    ];
    wrong.push(
      'https://shop.example:443',
      'https://*.example',
      'ftp://shop.example',
      'https://shop.example,',
      'file://',
    );
    for (const origins of wrong) assert.throws(() => read(origins), /ORIGINS: must be origins/, origins);
  });
});

describe('logLevel', () => {
  it('takes the levels of the log and nothing else', () => {
    assert.deepEqual(refused('LOG_LEVEL', ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']), []);
    assert.deepEqual(refused('LOG_LEVEL', ['INFO', 'verbose', '30']), ['INFO', 'verbose', '30']);
  });
});

describe('onOff', () => {
  it('takes on and off and nothing else', () => {
    assert.deepEqual(refused('REFLECTION', ['on', 'off']), []);
    assert.deepEqual(refused('REFLECTION', ['ON', 'true', '1', 'yes']), ['ON', 'true', '1', 'yes']);
  });
});
