export { default } from 'supertest';
