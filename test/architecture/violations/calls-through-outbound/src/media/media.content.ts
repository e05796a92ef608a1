import { request } from 'undici';

export const content = request('http://169.254.169.254/');
