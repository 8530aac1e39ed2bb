/** One line on the terminal that is written over and over. Where there is no terminal, nothing: cron mails whatever it gets. */
export function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}

export function endProgress(): void {
  showProgress('');
}
