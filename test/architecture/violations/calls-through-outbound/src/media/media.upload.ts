import { connect } from 'node:http2';

export const upload = connect('https://169.254.169.254/');
