import { QueryTypes, type Sequelize, type Transaction } from 'sequelize';

/**
 * Runs an INSERT, UPDATE or DELETE with `?` in place of the values, in order. Returns the number of rows changed (FOUND_ROWS is
 * off: a row that is set to what it was does not count).
 */
export async function execute(
  db: Sequelize,
  sql: string,
  values: readonly unknown[],
  transaction?: Transaction,
): Promise<number> {
  const [result] = await db.query(sql, { replacements: values as unknown[], transaction: transaction ?? null });
  return (result as unknown as { affectedRows: number }).affectedRows;
}

/** Runs a SELECT with `?` in place of the values. BIGINT comes as a string, DATETIME as a Date, VARBINARY as a Buffer. */
export function select<Row extends object>(
  db: Sequelize,
  sql: string,
  values: readonly unknown[],
  transaction?: Transaction,
): Promise<Row[]> {
  return db.query<Row>(sql, {
    replacements: values as unknown[],
    type: QueryTypes.SELECT,
    transaction: transaction ?? null,
  });
}

/** `(?,?),(?,?)`: the placeholders of so many rows. `row` is one of them. */
export function rowsOf(row: string, count: number): string {
  return Array.from({ length: count }, () => row).join(',');
}

/** The value of a JSON column: MySQL's comes parsed, MariaDB's is text. */
export function jsonOf(column: unknown): unknown {
  return typeof column === 'string' ? JSON.parse(column) : column;
}
