import { connect } from 'node:tls';

export const probe = connect(443, '169.254.169.254');
