import assert from 'node:assert/strict';
import { join } from 'node:path';
import { Broker } from '../../../dev/broker/start-broker.ts';
import { storedEvents, useBroker } from '../../support/broker.ts';
import { until } from '../../support/expect.ts';
import { type ServiceProcess, startProcess } from '../../support/processes.ts';
import { databaseUrlOf, useSystem } from '../../support/system.ts';
import { payloadOf, writeEvent } from './event-rig.ts';

const SECRET = 's3cret-word';

describe('the credentials for the broker', function () {
  this.timeout(60_000);
  const system = useSystem();
  // Where there is no broker at all this leaves the suite out.
  useBroker();
  let guarded: Broker;
  let service: ServiceProcess | undefined;

  before(async () => void (guarded = await Broker.start({ args: ['--user', 'shop', '--pass', SECRET] })));
  afterEach(async () => {
    service?.child.kill('SIGKILL');
    await service?.ended;
    await system.orderDb.EventRecord.destroy({ where: {} });
  });
  after(() => guarded?.stop());

  function start(url: string, more: Record<string, string> = {}): ServiceProcess {
    const env = { DATABASE_URL: databaseUrlOf(system.orderDb), STOCK_TARGET: system.stockAddress, EVENTS_URL: url };
    return (service = startProcess('order-svc', { LOG_LEVEL: 'trace', ...env, ...more }));
  }
  const urlOf = (user: string, password: string) => guarded.url.replace('//', `//${user}:${password}@`);
  const said = ({ lines, stderr }: ServiceProcess) => JSON.stringify(lines) + stderr();

  it('let it in, and are never logged, not when the broker is lost either', async () => {
    const url = urlOf('shop', SECRET);
    const { address } = start(url);
    await address;
    await writeEvent(system, '7', 'ORDER_CREATED', { payload: payloadOf('7') });
    const sent = async () => (await system.orderDb.EventRecord.count({ where: { status: 'SENT' } })) === 1;
    await until('the event is sent', sent, 20_000);
    assert.deepEqual(
      (await storedEvents(url)).map((event) => event.id),
      ['7.ORDER_CREATED'],
    );
    await guarded.kill();
    await until('it says so', () => /broker is away/.test(said(service!)), 20_000);
    await guarded.startAgain();
    service!.child.kill('SIGTERM');
    assert.equal(await service!.ended, 0);
    assert.ok(!said(service!).includes(SECRET));
  });

  it('that are wrong keep it from starting, with an error that does not name them', async () => {
    const refused = start(urlOf('shop', `${SECRET}-not`));
    assert.equal(await refused.ended, 1);
    assert.match(said(refused), /Authorization Violation.*could not start/);
    assert.ok(!said(refused).includes(SECRET));
  });

  it('that cannot be read are refused, with an error that does not name them', async () => {
    const refused = start(`http://shop:${SECRET}@127.0.0.1`);
    assert.equal(await refused.ended, 1);
    assert.match(refused.stderr(), /^ {2}EVENTS_URL: must be log: or nats:\/\/user:password@host:port$/m);
    assert.ok(!said(refused).includes(SECRET));
  });

  it('go over TLS where the URL says so, and never without', async () => {
    const certificate = (name: string) => join(import.meta.dirname, '../../support/certificates', name);
    const tls = ['--tls', '--tlscert', certificate('server.pem'), '--tlskey', certificate('server.key')];
    const encrypted = await Broker.start({ args: tls });
    try {
      const env = { NODE_EXTRA_CA_CERTS: certificate('ca.pem') };
      const sealed = start(encrypted.url.replace('nats:', 'tls:'), env);
      await sealed.address;
      assert.match(said(sealed), /events can be published/);
      sealed.child.kill('SIGTERM');
      await sealed.ended;
      const open = start(guarded.url.replace('nats://', `tls://shop:${SECRET}@`), env);
      await open.address;
      assert.match(said(open), /server does not support 'tls'/);
      assert.doesNotMatch(said(open), /events can be published/);
    } finally {
      await encrypted.stop();
    }
  });
});
