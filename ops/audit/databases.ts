import type { Sequelize } from 'sequelize';

/** Both databases, at their primaries: a replica that lags would make what is in flight look broken. */
export interface Databases {
  readonly order: Sequelize;
  readonly stock: Sequelize;
}
