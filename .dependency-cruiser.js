// Who may import whom. `npm run check -- imports` holds it; a broken rule is named with the import that breaks it.

const services = '^[^/]+-svc/';
const production = '^(gen|runtime|client|ops|[^/]+-svc)/';
const productionEntries = ['^[^/]+-svc/main\\.ts$', '^client/', '^ops/(main\\.ts|ordersystem\\.js)$'];
const notDeployed = '^(dev|test|test-browser|bench|examples)/';
const devEntries = [
  '^(dev|bench)/[^/]+\\.ts$',
  '\\.test\\.ts$',
  // What mocha, and what tests, start by path.
  '^test/support/(setup|reporter|mint-numbers)\\.ts$',
  '^test/runtime/lifecycle/a-process\\.ts$',
  '^test/contract/main\\.ts$',
  '^test/faults/(main|soak|crash-at|clock-shift|heap-watch)\\.ts$',
  // What esbuild and npm start by path.
  '^examples/[^/]+/(main|page/page)\\.ts$',
];

/** @type {import('dependency-cruiser').IForbiddenRuleType[]} */
const betweenFolders = [
  {
    name: 'gen-imports-nothing-of-ours',
    comment: 'The contracts are the ground that all else stands on.',
    from: { path: '^gen/' },
    to: { dependencyTypes: ['local'], pathNot: '^gen/' },
  },
  {
    name: 'runtime-imports-only-gen',
    comment: 'Both services stand on it: what it knew of one, the other would carry.',
    from: { path: '^runtime/' },
    to: { dependencyTypes: ['local'], pathNot: '^(runtime|gen)/' },
  },
  {
    name: 'runtime-knows-no-orders-or-stock',
    comment: 'Of the contracts it sees only the common ones, such as google.rpc.',
    from: { path: '^runtime/' },
    to: { path: '^gen/ordersystem/' },
  },
  {
    name: 'services-apart',
    comment: 'Each is deployed and has its database alone; one knows the other only as the contract in gen/.',
    from: { path: '^([^/]+-svc)/' },
    to: { path: services, pathNot: '^$1/' },
  },
  {
    name: 'services-import-only-gen-and-runtime',
    comment: 'client/ is for callers, and there is no common folder: what both services need is for runtime/.',
    from: { path: services },
    to: { dependencyTypes: ['local'], pathNot: [services, '^(gen|runtime|dev|test|bench|examples)/'] },
  },
  {
    name: 'client-imports-only-gen-and-runtime',
    comment: 'A caller gets the contract and the transport, never the inside of a service.',
    from: { path: '^client/' },
    to: { dependencyTypes: ['local'], pathNot: '^(client|gen|runtime)/' },
  },
  {
    name: 'examples-import-only-the-client',
    comment: 'An example does what somebody else can do; it starts the services as npm start does.',
    from: { path: '^examples/' },
    to: { dependencyTypes: ['local'], pathNot: '^(examples|dev|client|gen)/' },
  },
  {
    name: 'pages-import-only-the-client',
    comment: 'And in a page nothing of the gateway before it.',
    from: { path: '^examples/[^/]+/page/' },
    to: { dependencyTypes: ['local'], pathNot: '^examples/[^/]+/page/' },
  },
  {
    name: 'consumers-reach-no-sequelize',
    comment: 'A caller has his own way to his own database.',
    from: { path: '^(client|examples/points)/' },
    to: { path: 'node_modules/(sequelize|umzug)/', reachable: true },
  },
  {
    name: 'ops-imports-no-inside-of-a-service',
    comment:
      'It asks the services, and reads the tables, which it knows by itself. Of the inside only what a number is made of.',
    from: { path: '^ops/' },
    to: { dependencyTypes: ['local'], pathNot: '^((ops|client|gen|runtime)/|order-svc/domain/order-no\\.ts$)' },
  },
  {
    name: 'production-imports-no-dev-or-test',
    comment: 'These folders are not deployed.',
    from: { path: production },
    to: { path: notDeployed },
  },
];

/** @type {import('dependency-cruiser').IForbiddenRuleType[]} */
const insideService = [
  {
    name: 'wiring-on-top',
    comment: 'main, service and config put the parts together; a part is given what it needs as arguments.',
    from: { path: '^([^/]+-svc)/[^/]+/' },
    to: { path: '^$1/[^/]+$' },
  },
  {
    name: 'rpc-on-top',
    comment: 'rpc → saga → domain: what is below the RPCs runs as well for the reaper and the outbox.',
    from: { path: '^[^/]+-svc/(saga|life|outbox|db|domain)/' },
    to: { path: '^[^/]+-svc/rpc/' },
  },
  {
    name: 'saga-below-rpc',
    comment: 'The outbox and the tables carry what a saga, or the life of an order, decided, and decide nothing.',
    from: { path: '^[^/]+-svc/(outbox|db|domain)/' },
    to: { path: '^[^/]+-svc/(saga|life)/' },
  },
  {
    name: 'saga-and-life-apart',
    comment: 'One makes the order, the other is what becomes of it: neither needs the other.',
    from: { path: '^[^/]+-svc/(saga|life)/' },
    to: { path: '^[^/]+-svc/(saga|life)/', pathNot: '^[^/]+-svc/$1/' },
  },
  {
    name: 'outbox-apart',
    comment: 'Requests and sagas leave events in the tables, in their transaction; only the relay sends them.',
    from: { path: '^[^/]+-svc/(rpc|saga|life|db|domain)/' },
    to: { path: '^[^/]+-svc/outbox/' },
  },
  {
    name: 'domain-imports-no-db',
    comment: 'db → domain: the rules of orders and stock can be read, and tested, without a table.',
    from: { path: '^[^/]+-svc/domain/' },
    to: { path: '^([^/]+-svc|runtime)/db/' },
  },
  {
    name: 'domain-reaches-no-sequelize',
    comment: 'Nor through something that it imports.',
    from: { path: '^[^/]+-svc/domain/' },
    to: { path: 'node_modules/(sequelize|mysql2|umzug)/', reachable: true },
  },
];

/** @type {import('dependency-cruiser').IForbiddenRuleType[]} */
const everywhere = [
  {
    name: 'production-imports-no-dev-dependency',
    comment: 'npm ci --omit=dev must be enough to run it: move the package to dependencies.',
    from: { path: production },
    to: { dependencyTypes: ['npm-dev', 'npm-optional'] },
  },
  {
    name: 'packages-are-declared',
    comment: 'A package that only another package brings along goes away, or changes, with it.',
    from: {},
    to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
  },
  {
    name: 'no-cycles',
    comment: 'import { type X } too: Node leaves the import standing, so the cycle is there when it runs.',
    from: {},
    to: { circular: true },
  },
  {
    name: 'no-orphans',
    comment: 'Nothing that runs, and no caller, gets to this file: use it or delete it.',
    from: { path: productionEntries },
    to: { path: production, pathNot: productionEntries, reachable: false },
  },
  {
    name: 'no-orphans-in-dev-and-test',
    comment: 'No command and no test gets to this file: use it or delete it.',
    from: { path: devEntries },
    to: { path: notDeployed, pathNot: devEntries, reachable: false },
  },
];

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [...betweenFolders, ...insideService, ...everywhere].map((rule) => ({ severity: 'error', ...rule })),
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(\\.(data|git)|dist)/' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
  },
};
