import { get } from 'node:http';

export const download = get('http://169.254.169.254/');
