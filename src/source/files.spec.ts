import { describe, expect, it } from '@jest/globals';
import { bucketAddress } from './files.js';

/** Endpoints as the services document them (2026-11-28). */
describe('the address of a bucket', () => {
  it.each([
    ['https://s3.eu-central-1.amazonaws.com/handbook', 'eu-central-1'],
    ['https://s3-us-west-2.amazonaws.com/handbook/', 'us-west-2'],
    ['https://s3.us-west-004.backblazeb2.com/handbook', 'us-west-004'],
    ['https://s3.amazonaws.com/handbook', 'us-east-1'],
    ['http://minio.internal:9000/handbook', 'us-east-1'],
    ['https://garage.example.com/handbook?region=garage', 'garage'],
  ])('%s', (address, region) => {
    const endpoint = new URL(address).origin;
    expect(bucketAddress(address)).toEqual({ endpoint, region, bucket: 'handbook' });
  });

  it.each([
    'https://s3.example.com',
    'https://s3.example.com/a/b',
    'https://s3.example.com/%2e%2e',
  ])('%s names none', (address) => {
    expect(() => bucketAddress(address)).toThrow(/name of the bucket/);
  });
});
