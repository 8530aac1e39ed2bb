/** Lines of one request. */
export const MAX_LINES = 100;
/** Pieces on one line, and of one product in one order. */
export const MAX_QUANTITY = 1_000_000n;
/** Cents: what DECIMAL(12,2) holds, the type of an order's total. */
export const MAX_CENTS = 999_999_999_999n;
export const MAX_PRODUCT_ID = 2n ** 63n - 1n;
/** Unicode code points: VARCHAR(256). */
export const MAX_TITLE_LENGTH = 256;
/** An order_no or a receipt_no. */
export const NUMBER_PATTERN = /^[A-Za-z0-9._:-]{1,32}$/;
export const NUMBER_RULE = 'must be 1 to 32 of A-Z a-z 0-9 . _ : -';
