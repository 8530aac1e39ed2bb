/** A column: its heading, and `right` for numbers. */
export type Column = string | { readonly name: string; readonly right: true };

/** Lines of aligned columns, for people. The last column is not padded, so put there what may be long or wide. */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[]): string[] {
  const heads = columns.map((column) => (typeof column === 'string' ? column : column.name));
  const lines = [heads, ...rows.map((row) => row.map(visible))];
  const widths = heads.map((_, i) => Math.max(...lines.map((line) => line[i]!.length)));
  return lines.map((line) =>
    line
      .map((cell, i) => {
        if (typeof columns[i] !== 'string') return cell.padStart(widths[i]!);
        return i === line.length - 1 ? cell : cell.padEnd(widths[i]!);
      })
      .join('  ')
      .trimEnd(),
  );
}

/** Names and values below each other. */
export function fields(values: Readonly<Record<string, string>>): string[] {
  const width = Math.max(...Object.keys(values).map((name) => name.length));
  return Object.entries(values).map(([name, value]) => `${name.padEnd(width)}  ${visible(value)}`);
}

/** Text that somebody else has written, such as a product's title: it must not steer the terminal. */
export function visible(text: string): string {
  return text.replace(/[\x00-\x1f\x7f-\x9f]/g, '\ufffd');
}
