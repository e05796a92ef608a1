/** Id of the browser client that every installation has (docs/WIRE.md, Sign-in). */
export const CLIENT_ID = 'e5cd7e4891bf95d1d19206ce24a7b32e';
